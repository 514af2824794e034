import asyncio
import os
import signal

import aiohttp
import pytest

from e2e.pve.__main__ import parse, serve
from e2e.pve.nic import parse_nic
from e2e.pve.options import OptionError, make_cluster, parse_listen

TOKEN = "root@pam!capmox=secret"


def test_a_template_is_small_and_says_where_it_lives():
    cluster = make_cluster(
        ["pve1", "pve2"], ["9000", "9001,node=pve2,name=ubuntu,tags=a;b,bridge=vmbr3,vlan=999"], [TOKEN]
    )
    plain, rich = cluster.vms[9000], cluster.vms[9001]
    assert (plain.node, plain.template, plain.config["cores"], plain.config["memory"]) == ("pve1", True, 1, 512)
    assert (rich.node, rich.name, rich.tags) == ("pve2", "ubuntu", ("a", "b"))
    nic = parse_nic(str(rich.config["net0"]))
    assert (nic.bridge, nic.tag) == ("vmbr3", 999)


def test_a_token_may_be_read_only():
    tokens = make_cluster(["pve1"], [], [TOKEN, "a@pve!b=c,read-only"]).tokens
    assert {name: token.read_only for name, token in tokens.items()} == {"root@pam!capmox": False, "a@pve!b": True}


@pytest.mark.parametrize(
    ("nodes", "templates", "tokens", "fault"),
    [
        ([], [], [TOKEN], "--node: at least one"),
        (["pve1"], [], [], "--token: at least one"),
        (["pve1"], [], ["root=secret"], "--token: 'root=secret' is not"),
        (["pve1"], ["x"], [TOKEN], "--template x: 'x' is no VM id; allowed: ID"),
        (["pve1"], ["9000,color=red"], [TOKEN], "unknown option 'color'"),
        (["pve1"], ["9000,node=pve7"], [TOKEN], "no --node pve7"),
        (["pve1"], ["9000,vlan=x"], [TOKEN], "--template 9000,vlan=x: invalid literal"),
    ],
)
def test_wrong_options_are_named(nodes, templates, tokens, fault):
    with pytest.raises(OptionError, match=fault):
        make_cluster(nodes, templates, tokens)


@pytest.mark.parametrize(("text", "place"), [("127.0.0.1:8006", ("127.0.0.1", 8006)), ("[::1]:0", ("::1", 0))])
def test_a_place_to_listen(text, place):
    assert parse_listen(text) == place


@pytest.mark.parametrize("text", ["8006", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"])
def test_no_place_to_listen(text):
    with pytest.raises(OptionError, match=r"--listen: .* is not HOST:PORT"):
        parse_listen(text)


async def test_it_serves_until_it_is_told_to_end(capsys):
    serving = asyncio.create_task(serve(parse(["--listen", "127.0.0.1:0", "--node", "pve1", "--token", TOKEN])))
    said = ""
    while "\n" not in said:
        await asyncio.sleep(0.01)
        assert not serving.done()
        said += capsys.readouterr().out
    url = said.removeprefix("listening on ").strip()
    headers = {"Authorization": f"PVEAPIToken={TOKEN}"}
    async with aiohttp.ClientSession() as session, session.get(url + "/api2/json/version", headers=headers) as answer:
        assert answer.status == 200
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(serving, 5)

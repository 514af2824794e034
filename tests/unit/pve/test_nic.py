import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.pve.nic import MODELS, Nic, NicError, invent_mac, parse_nic

MAC = "BC:24:11:00:00:01"


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("virtio,bridge=vmbr0", "virtio,bridge=vmbr0"),
        ("virtio,bridge=vmbr7,mtu=1400,tag=107,queues=4", "virtio,bridge=vmbr7,mtu=1400,queues=4,tag=107"),
        (f"virtio={MAC},bridge=vmbr0,tag=1", f"virtio={MAC},bridge=vmbr0,tag=1"),
        (f"virtio={MAC.lower()},bridge=vmbr0", f"virtio={MAC},bridge=vmbr0"),
        (f"model=e1000,macaddr={MAC},bridge=vmbr0", f"e1000={MAC},bridge=vmbr0"),
        ("tag=4094,bridge=vnet-7.x,rtl8139", "rtl8139,bridge=vnet-7.x,tag=4094"),
        ("vmxnet3,bridge=b,firewall=1,link_down=0", "vmxnet3,bridge=b,firewall=1"),
        ("virtio,bridge=vmbr0,mtu=1", "virtio,bridge=vmbr0,mtu=1"),
    ],
)
def test_lines_are_printed_as_pve_prints_them(line, printed):
    assert str(parse_nic(line)) == printed


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("", "property is not defined"),
        ("virtio", "bridge: property is missing"),
        ("bridge=vmbr0", "model: property is missing"),
        ("virtio,e1000,bridge=vmbr0", "model: given twice"),
        ("virtio,bridge=", "bridge: invalid format"),
        ("virtio,bridge=vmbr0,tag=0", "tag: value must have a minimum value of 1"),
        ("virtio,bridge=vmbr0,tag=4095", "tag: value must have a maximum value of 4094"),
        ("virtio,bridge=vmbr0,tag=x", "tag: type check"),
        ("virtio,bridge=vmbr0,tag=²", "tag: type check"),
        ("virtio,bridge=vmbr0,mtu=65521", "mtu: value must have a maximum"),
        ("virtio,bridge=vmbr0,vlan=7", "vlan: property is not defined"),
        ("virtio=BC:24:11,bridge=vmbr0", "macaddr"),
        ("virtio=01:00:5E:00:00:01,bridge=vmbr0", "unicast"),
    ],
)
def test_wrong_lines_name_the_option(line, fault):
    with pytest.raises(NicError, match=fault):
        parse_nic(line)


@given(
    st.builds(
        Nic,
        model=st.sampled_from(MODELS),
        bridge=st.from_regex(r"[a-z0-9_]{1,15}", fullmatch=True),
        mac=st.none() | st.integers(0, 2**24 - 1).map(invent_mac),
        tag=st.none() | st.integers(1, 4094),
        mtu=st.none() | st.integers(1, 65520),
        queues=st.none() | st.integers(0, 64),
        firewall=st.booleans(),
        link_down=st.booleans(),
    )
)
def test_what_is_printed_reads_back(nic):
    assert parse_nic(str(nic)) == nic


def test_invented_macs_differ_and_have_the_vendor_prefix():
    macs = {invent_mac(serial) for serial in range(300)}
    assert len(macs) == 300
    assert all(mac.startswith("BC:24:11:") for mac in macs)

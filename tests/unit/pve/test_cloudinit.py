import gzip
from ipaddress import ip_address, ip_interface, ip_network

import pytest

from e2e.pve.cloudinit import CloudInitError, NetworkConfig, Route, parse_network_config, read_cloud_init
from tests.unit.pve.test_joliet import CAPMOX_IMAGE, image

NETPLAN = """\
network:
  version: 2
  renderer: networkd
  ethernets:
    eth0:
      match:
        macaddress: 10:20:30:40:50:55
      dhcp4: false
      dhcp6: true
      routes:
        - { "to": "default", "via": "10.0.0.1", "metric": 100, }
        - { "to": "10.9.0.0/16", "via": "10.0.0.2", "table": 7, }
"""


def test_capmoxs_image_gives_typed_values():
    seen = read_cloud_init(gzip.decompress(CAPMOX_IMAGE.read_bytes()))
    assert seen.meta_data == {"instance-id": "abc", "local-hostname": "one-m1"}
    eth0 = seen.network_config.interface("eth0")
    assert eth0.mac == "BC:24:11:00:00:03"
    assert eth0.addresses == (ip_interface("10.10.0.10/24"), ip_interface("2001:db8::10/64"))
    assert eth0.routes == (
        Route(ip_network("0.0.0.0/0"), ip_address("10.10.0.1"), 100),
        Route(ip_network("::/0"), ip_address("2001:db8::1"), 100),
    )
    assert all(route.default for route in eth0.routes)
    assert (eth0.nameservers, eth0.mtu, eth0.dhcp4, eth0.dhcp6) == ((ip_address("8.8.8.8"),), 1400, False, False)


def test_a_mac_of_digits_stays_a_mac_and_default_takes_the_family_of_its_gateway():
    eth0 = parse_network_config(NETPLAN).interface("eth0")
    assert (eth0.mac, eth0.dhcp4, eth0.dhcp6, eth0.mtu) == ("10:20:30:40:50:55", False, True, None)
    assert eth0.routes[0].to == ip_network("0.0.0.0/0")
    assert (eth0.routes[1].metric, eth0.routes[1].table, eth0.routes[1].default) == (None, 7, False)


def test_ignitions_empty_version_1_has_no_interfaces():
    assert parse_network_config("version: 1\nconfig: []") == NetworkConfig(())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must be a mapping"),
        ("{", "not YAML"),
        ("network: {version: 3}", "version '3' is not 2"),
        ("network: {version: 2, ethernets: []}", "ethernets: must be a mapping"),
        ("network: {version: 2, ethernets: {eth0: {}}}", "eth0: 'match'"),
        (NETPLAN.replace("10.9.0.0/16", "10.9.0.1/16"), "eth0: .*host bits"),
        (NETPLAN.replace('metric": 100', 'metric": x'), "eth0: "),
    ],
)
def test_a_configuration_nobody_understands_is_refused(text, fault):
    with pytest.raises(CloudInitError, match=fault):
        parse_network_config(text)


def test_a_missing_interface_and_a_missing_file_are_named():
    with pytest.raises(CloudInitError, match="no interface eth9, only eth0"):
        parse_network_config(NETPLAN).interface("eth9")
    with pytest.raises(CloudInitError, match="network-config: not on the ISO, which holds meta-data, user-data"):
        read_cloud_init(image({"user-data": b"", "meta-data": b"a: b"}))

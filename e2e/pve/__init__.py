"""A simulated Proxmox VE API: enough of it for Cluster API's Proxmox provider (capmox) to run unchanged.

It keeps nodes, virtual machines, storages and tasks in memory and answers over real HTTP. It runs no guest: a started
machine is a status, and what a guest would have read from its cloud-init ISO is read by `e2e.pve.cloudinit` instead.

Like PVE: tokens (401, 403), the reason phrases clients match on, parameters checked against a schema (400 with the
fields at fault), unknown paths (501), tasks that take time and may fail, the lock of a VM that is being cloned, MACs
invented when a device is written, the refusal to destroy a running VM.
Unlike PVE: every node is up; a change to a running VM takes effect at once and never waits as "pending"; resource
pools, snapshots, containers, high availability and fine-grained privileges do not exist; disks have sizes but no
content, and a storage never fills up.

Run it with `python -m e2e.pve`, look into it with `e2e.pve.client`.
"""

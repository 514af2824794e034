"""A simulated Proxmox VE API: enough of it for Cluster API's Proxmox provider (capmox) to run unchanged.

It keeps nodes, virtual machines, storages and tasks in memory and answers over real HTTP. It runs no guest: a started
machine is a status, and what a guest would have read from its cloud-init ISO is read by `e2e.pve.cloudinit` instead.
"""

"""A kubelet whose containers are local processes: it runs the shipped Deployments without a container runtime.

What is real: the Pod API, service account tokens (so the shipped RBAC is what counts), volumes, probes, restarts,
graceful ends, one network namespace a pod, one private root directory a container. What is not: images (a table says
which local program stands for which image), resource limits, capabilities and seccomp, cluster IPs.
"""

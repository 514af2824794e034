module pxnet/e2e/tools/cert-manager

go 1.26.0

// Only its CRDs are read (deploy/crds); nothing of it is built.
require github.com/cert-manager/cert-manager v1.21.2

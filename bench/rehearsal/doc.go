// Package rehearsal moves a cluster from upstream's Karpenter to Kerf and back, as docs/migrate.md tells users to, and watches
// what becomes of the nodes and pods.
//
// The parts are real: a Kubernetes control plane, the simulated AWS at its wire, upstream's own chart and controller as they
// were released, Kerf's charts and controller, and Helm's code. Upstream's chart and CRDs are read from its module at run
// time.
package rehearsal

// Package truth holds simulations against a real control plane: the same workload is played by `kerf simulate`, in virtual time, and
// in a local cluster as time goes by, with the controller as users run it. What is compared is what a simulation is asked for: the
// bill and the nodes over time, and how long pods wait. Upstream's controller plays the same workload in the same local cluster.
package truth

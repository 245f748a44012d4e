// Package beside runs Kerf's controller and upstream's, each as the process that users run and one after the other, in
// the same local cluster: a real control plane, the same simulated AWS, the same NodePools and pods. What is measured is
// what an owner of a cluster pays for: calls to AWS, writes to the Kubernetes API, CPU and memory of the controller, and
// the bill over time.
package beside

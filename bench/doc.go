// Package bench puts Kerf's engine and upstream Karpenter's beside each other: the same pods, pools, instance types and
// nodes to both, in one process, with the same judge of the outcome.
package bench

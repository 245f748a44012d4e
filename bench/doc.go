// Package bench is the home of benchmarks that put Kerf beside other autoscalers on the same inputs. It is a module of
// its own so that what it compares with never becomes a dependency of Kerf.
package bench

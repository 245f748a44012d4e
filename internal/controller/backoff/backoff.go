// Package backoff is how long the loops that reconcile objects pause before one that failed is tried again.
package backoff

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// first and longest bound the pauses of Usual. An object that failed for long is tried again a minute after the cause is gone at the
// latest: controller-runtime's own pauses grow to 1000 seconds.
const first, longest = time.Second, time.Minute

// Usual has the pause before the next try double from a second to a minute.
func Usual() workqueue.TypedRateLimiter[reconcile.Request] { return Between(first, longest) }

// Between has the pause before the next try double from the first to the longest.
func Between(first, longest time.Duration) workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](first, longest)
}

package interruption_test

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kerf-sh/kerf/internal/aws/instancestatus"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
)

// Every claim is looked at four times a minute for scheduled work and once for its status, and hardly any is written to:
// that must not cost copies of them all.
func TestLookingForTroubleCopiesNoClaim(t *testing.T) {
	h := newTestCluster(t, interruption.Options{}, nodeClaim("a", ours))
	reads, copies := 0, 0
	count := func(shared *bool) {
		if reads++; shared == nil || !*shared {
			copies++
		}
	}
	h.Client = interceptor.NewClient(h.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			var all client.ListOptions
			all.ApplyOptions(opts)
			count(all.UnsafeDisableDeepCopy)
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			var all client.GetOptions
			all.ApplyOptions(opts)
			count(all.UnsafeDisableDeepCopy)
			return c.Get(ctx, key, o, opts...)
		},
	})
	h.clinic.statuses = []instancestatus.Status{{InstanceID: ours}}
	h.windows()
	h.poll()
	if reads != 2 || copies != 0 {
		t.Errorf("%d reads, of which %d copy; want 2 and none", reads, copies)
	}
}

package lifecycle

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// errLaunching is the outcome of a launch that has none yet.
var errLaunching = errors.New("the launch has not been answered yet")

// launching is a launch that runs beside the workers: EC2 may take minutes to answer, and other claims must register and time
// out meanwhile. All launches that are under way at once meet in one batch, however few workers there are.
type launching struct {
	done     chan struct{} // closed once instance and err are set
	instance *cloud.Instance
	err      error
}

// submit begins the launch of a claim. Once it is answered the claim is reconciled again. Before Register, where nobody would
// wake it, the answer is waited for.
func (c *Controller) submit(ctx context.Context, known *memory, claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) {
	l := &launching{done: make(chan struct{})}
	known.launching = l
	want := claim.DeepCopy()
	ctx, span := c.Trace.Start(story.Resume(ctx, c.Trace, claim), "nodeclaim.launch")
	answer := func() {
		l.err = guard.Run("lifecycle.launch", func() (err error) {
			l.instance, err = c.Cloud.Launch(ctx, want, class)
			return err
		})
		launchEnded(span, want, l.instance, l.err)
		close(l.done)
	}
	if c.answers == nil {
		answer()
		return
	}
	guard.Go("lifecycle.launch", func() {
		answer()
		c.answered(ctx, want.Name)
	})
}

// answered has a claim reconciled again for which something has run beside the workers.
func (c *Controller) answered(ctx context.Context, claim string) {
	select {
	case c.answers <- event.GenericEvent{Object: &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim}}}:
	case <-ctx.Done(): // the process ends; the next leader finds what was done
	}
}

// take returns what the launch came to, once; errLaunching while it runs.
func (m *memory) take() (*cloud.Instance, error) {
	l := m.launching
	select {
	case <-l.done:
	default:
		return nil, errLaunching
	}
	m.launching = nil
	if l.err != nil {
		return nil, l.err
	}
	m.instance, m.failures = l.instance, 0
	return l.instance, nil
}

// whileLaunching gives up a claim whose time is over, and says when to look again otherwise. That it is being launched is
// written once it takes long enough for a person to look.
func (c *Controller) whileLaunching(ctx context.Context, claim *karpv1.NodeClaim) outcome {
	if c.expired(ctx, claim) {
		return outcome{deleted: true}
	}
	return outcome{quiet: c.Clock.Since(claim.CreationTimestamp.Time) < patience, after: c.nextLook(claim)}
}

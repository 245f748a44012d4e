package explain

import (
	"context"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// Source is where recorded decisions come from.
type Source interface {
	// Decisions calls see for each decision, the newest first, until it returns false.
	Decisions(ctx context.Context, see func(id string, d *record.Decision) bool) error
}

// Keeper is a source that knows the last decision on which nodes go, recorded or not; nil when there is none.
type Keeper interface {
	Kept(ctx context.Context) (*disrupt.Decision, error)
}

// Witness is a source that knows nodes as they are now. known is false where it can't tell; a Now without a node says that
// there is none.
type Witness interface {
	Now(ctx context.Context, name string) (now record.Now, known bool, err error)
}

// PodWitness is a source that knows pods as they are now; known is false where it can't tell. An empty namespace stands for any.
type PodWitness interface {
	PodNow(ctx context.Context, namespace, name string) (now record.PodNow, known bool, err error)
}

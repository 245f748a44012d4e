package fleet

import (
	"context"
	"fmt"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// Found gives the instance that a claim got, from this process or one before it; nil where it got none. It begins no
// launch. One that is under way is waited for, and one whose outcome is not known is sent again to learn of it: where it
// had not reached EC2, the claim gets its instance now.
//
// Errors: *cloud.Error, when it is not known.
func (b *Launcher) Found(ctx context.Context, o Order) (*Launched, error) {
	op := fmt.Sprintf("looking for the instance of NodeClaim %q", o.Name)
	for {
		b.mu.Lock()
		c := b.claimLocked(o)
		launched, running, doubt, from := c.launched, c.running, c.doubt, c.lookFrom
		b.mu.Unlock()
		var err error
		switch {
		case launched != nil:
			return launched, nil
		case running != nil:
			select {
			case <-running.done: // whatever came of it
			case <-ctx.Done():
				err = ctx.Err()
			}
		case doubt != nil:
			err = b.settle(ctx, doubt, o.UID)
		case !from.IsZero():
			err = b.look(ctx, o, from)
		default:
			return nil, nil
		}
		if err != nil {
			return nil, awserr.Wrap(op, err)
		}
	}
}

package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// Found gives the instance that a claim got that is being ended, from this process or one before it; nil where it got none. It
// begins no launch. One that is under way is waited for, and is not sent to EC2 any more when all its claims are being ended. One
// whose outcome is not known is sent again to learn of it, as long as another of its claims still wants an instance: where it had
// not reached EC2, the claim gets its instance now. When all its claims are being ended, it is not sent again, and the instances
// tell.
//
// Errors: *cloud.Error, when it is not known.
func (b *Launcher) Found(ctx context.Context, o Order) (*Launched, error) {
	op := fmt.Sprintf("looking for the instance of NodeClaim %q", o.Name)
	for {
		b.mu.Lock()
		c := b.claimLocked(o)
		c.ending = true
		launched, running, doubt, from := c.launched, c.running, c.doubt, c.lookFrom
		wanted := doubt != nil && b.wantedLocked(doubt)
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
		case wanted:
			err = b.settle(ctx, doubt, o.UID)
		case doubt != nil:
			err = b.abandon(ctx, doubt)
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

// errUnwanted is what became of a call that is not sent, or not sent again.
var errUnwanted = errors.New("all its NodeClaims are being deleted, so EC2 is not asked for instances")

func (b *Launcher) wanted(c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wantedLocked(c)
}

// wantedLocked reports whether a claim of a call still wants its instance.
func (b *Launcher) wantedLocked(c *call) bool {
	for _, o := range c.orders {
		if st := b.claims[o.UID]; st != nil && !st.ending {
			return true
		}
	}
	return false
}

// abandon resolves a call whose outcome is not known and that nobody wants any more. Its instances, if it has any, are looked for
// Options.Settle later.
func (b *Launcher) abandon(ctx context.Context, c *call) error {
	select {
	case c.sending <- struct{}{}:
		defer func() { <-c.sending }()
	case <-ctx.Done():
		return ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !c.resolved {
		b.refusedLocked(c, errUnwanted, true)
	}
	return nil
}

package interruption

import "context"

// callHelp wakes a receiver that sleeps, if there is one.
func (c *Controller) callHelp() {
	select {
	case c.crowd <- struct{}{}:
	default: // all are at work, or there are none
	}
}

// help is the round of a receiver that only works when messages come faster than one takes them in: it sleeps until it is
// called, and then receives until the queue is empty. A quiet queue so costs one long poll at a time and not one for each
// receiver.
func (c *Controller) help(ctx context.Context) (int, error) {
	select {
	case <-ctx.Done():
		return 0, nil
	case <-c.crowd:
	}
	sum := 0
	for ctx.Err() == nil {
		n, err := c.round(ctx)
		sum += n
		if n == 0 || err != nil {
			return sum, err
		}
	}
	return sum, nil
}

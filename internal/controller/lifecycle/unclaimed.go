package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/kerf-sh/kerf/internal/controller/terminate"
)

// endUnclaimed ends the instance that was launched for a claim whose object never came to say so: it was deleted during the
// launch. What a process that died has launched like this is found by whoever ends the claim (package terminate), and by the
// comparison of instances with claims where it is gone by then.
func (c *Controller) endUnclaimed(ctx context.Context, name string) error {
	m, ok := c.memories.Load(name)
	if ok && m.(*memory).launching != nil {
		if _, err := m.(*memory).take(); errors.Is(err, errLaunching) {
			return nil // once it is answered this is called again
		}
	}
	if !ok || m.(*memory).instance == nil {
		c.memories.Delete(name)
		return nil
	}
	instance := m.(*memory).instance
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	if _, err := (terminate.Terminator{Cloud: c.Cloud, Clock: c.Clock}).End(ctx, instance.ProviderID, nil); err != nil {
		return fmt.Errorf("ending the instance of nodeclaim %q, which was deleted during the launch: %w", name, err)
	}
	c.memories.Delete(name)
	c.Log.Info("ended the instance of a nodeclaim that was deleted during the launch", "nodeclaim", name, "provider_id", instance.ProviderID)
	return nil
}

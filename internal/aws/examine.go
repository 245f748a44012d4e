package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/aws/inventory"
)

// Examine says in a sentence how EC2 finds an instance: its state, and the status checks that fail.
func (p *Provider) Examine(ctx context.Context, providerID string) (string, error) {
	id, err := inventory.InstanceID(providerID)
	if err != nil {
		return "", err
	}
	m, err := p.inventory.Get(ctx, id)
	if err != nil {
		return "", err
	}
	if m.Ended != nil {
		return fmt.Sprintf("EC2 says that it is %s: %s", m.State, m.Ended.Message), nil //nolint:nilerr // how the instance ended is the answer
	}
	found, err := p.statuses.Read(ctx, []string{id})
	if err != nil {
		return "", err
	}
	var failed []string
	for _, s := range found {
		for _, f := range s.Failures {
			text := string(f.Category)
			if !f.Since.IsZero() {
				text += " since " + f.Since.UTC().Format("15:04:05 MST")
			}
			failed = append(failed, text)
		}
	}
	if len(failed) > 0 {
		return fmt.Sprintf("EC2 says that it is %s and fails its status checks (%s), so the instance itself, its image or its network is at fault", m.State, strings.Join(failed, ", ")), nil
	}
	return fmt.Sprintf("EC2 says that it is %s in %s and fails no status check, so look for the cause in what runs on it", m.State, m.SubnetID), nil
}

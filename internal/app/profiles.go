package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
)

// profilesEvery is how often instance profiles that nobody uses are looked for.
const profilesEvery = 30 * time.Minute

// profileCollector deletes instance profiles that no class and no claim names.
type profileCollector struct {
	provider *aws.Provider
	client   client.Client
	log      *slog.Logger
}

// Start runs until ctx ends, on the leader.
func (c *profileCollector) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(profilesEvery):
		}
		if err := c.collect(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("unused instance profiles could not all be deleted", "error", err)
		}
	}
}

func (c *profileCollector) collect(ctx context.Context) error {
	inUse := map[string]bool{}
	var classes awsv1.EC2NodeClassList
	if err := c.client.List(ctx, &classes); err != nil {
		return fmt.Errorf("listing ec2nodeclasses: %w", err)
	}
	for i := range classes.Items {
		inUse[classes.Items[i].Status.InstanceProfile] = true
	}
	var claims karpv1.NodeClaimList
	if err := c.client.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	for i := range claims.Items {
		inUse[claims.Items[i].Annotations[awsv1.AnnotationInstanceProfile]] = true
	}
	gone, err := c.provider.CollectProfiles(ctx, inUse)
	if len(gone) > 0 {
		c.log.Info("deleted unused instance profiles", "profiles", gone)
	}
	return err
}

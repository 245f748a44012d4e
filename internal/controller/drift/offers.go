package drift

import (
	"context"
	"fmt"
	"sync"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Types lists what can be launched of a node class, whether it is to be had now or not.
type Types interface {
	Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error)
}

const (
	// offersEvery is how often it is looked whether what runs is still sold.
	offersEvery = 5 * time.Minute
	// goneFor is how long a type must have been missing from every list. That one answer of EC2 may lack it is seen to where
	// the list is made (instancetype.Discovery).
	goneFor = 15 * time.Minute
)

// offers remembers what was last sold, by class, and since when claims have been of what is not sold any more.
//
// Concurrency: safe.
type offers struct {
	mu      sync.Mutex
	types   map[string]map[string]*catalog.Type // by class, by name
	missing map[string]time.Time                // by claim
}

// typeOf is the type of a claim's instance; nil when it is not known.
func (o *offers) typeOf(claim *karpv1.NodeClaim) *catalog.Type {
	if claim.Spec.NodeClassRef == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.types[claim.Spec.NodeClassRef.Name][claim.Labels[requirement.InstanceType]]
}

// verdict says whether the type of a claim's instance is gone. It is Unknown until the class has been listed, and while the
// type has not been missing for long enough.
func (o *offers) verdict(claim *karpv1.NodeClaim, now time.Time) (message string, v Verdict) {
	if claim.Spec.NodeClassRef == nil || claim.Labels[requirement.InstanceType] == "" || !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched) {
		return "", Unknown
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	types, listed := o.types[claim.Spec.NodeClassRef.Name]
	if !listed {
		return "", Unknown
	}
	typ := types[claim.Labels[requirement.InstanceType]]
	if sold(claim, typ) {
		return "", Same
	}
	since, noted := o.missing[claim.Name]
	if !noted || now.Sub(since) < goneFor || now.Sub(claim.CreationTimestamp.Time) < oldEnough {
		return "", Unknown
	}
	return notSold(claim, typ), Differs
}

// list takes in what is sold of a class now. An empty list is none: it says that something is wrong with the listing.
func (o *offers) list(class string, types []*catalog.Type) {
	if len(types) == 0 {
		return
	}
	byName := make(map[string]*catalog.Type, len(types))
	for _, t := range types {
		byName[t.Name] = t
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.types == nil {
		o.types, o.missing = map[string]map[string]*catalog.Type{}, map[string]time.Time{}
	}
	o.types[class] = byName
}

// unlisted forgets what was sold of a class that can't be listed now: an old list says nothing of how long a type has been
// missing.
func (o *offers) unlisted(class string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.types, class)
}

// review notes which of the claims are of what is not sold, and returns those about which there may be something else to
// say than before. Claims that are not among them are forgotten.
func (o *offers) review(claims []karpv1.NodeClaim, now time.Time) (changed []*karpv1.NodeClaim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	missing := map[string]time.Time{}
	for i := range claims {
		claim := &claims[i]
		if claim.Spec.NodeClassRef == nil || !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched) {
			continue
		}
		types, listed := o.types[claim.Spec.NodeClassRef.Name]
		if !listed {
			continue
		}
		since, was := o.missing[claim.Name]
		is := !sold(claim, types[claim.Labels[requirement.InstanceType]])
		switch {
		case is && was:
			missing[claim.Name] = since
			if now.Sub(since) >= goneFor && !saysGone(claim) {
				changed = append(changed, claim)
			}
		case is:
			missing[claim.Name] = now
		case was || saysGone(claim):
			changed = append(changed, claim)
		}
	}
	o.missing = missing
	return changed
}

func saysGone(claim *karpv1.NodeClaim) bool {
	c := claim.StatusConditions().Get(karpv1.ConditionTypeDrifted)
	return c.IsTrue() && c.Reason == karpv1.ReasonInstanceTypeNotFound
}

// lookAtOffers lists what is sold of each class, and has the claims compared again about which something else is to be said.
// Of a class that can't be listed nothing is said.
func (c *Controller) lookAtOffers(ctx context.Context) error {
	if c.Types == nil || c.Clock.Since(c.offered) < offersEvery {
		return nil
	}
	c.offered = c.Clock.Now()
	var classes awsv1.EC2NodeClassList
	if err := c.Client.List(ctx, &classes); err != nil {
		return fmt.Errorf("listing ec2nodeclasses: %w", err)
	}
	for i := range classes.Items {
		class := &classes.Items[i]
		if !class.DeletionTimestamp.IsZero() {
			continue
		}
		types, err := c.Types.Types(ctx, class)
		if err != nil {
			c.Log.Warn("what is sold can't be compared with what runs", "ec2nodeclass", class.Name, "error", err)
			c.offers.unlisted(class.Name)
			continue
		}
		c.offers.list(class.Name, types)
	}
	var claims karpv1.NodeClaimList
	if err := c.Client.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	for _, claim := range c.offers.review(claims.Items, c.Clock.Now()) {
		if index.Managed(claim) && !c.again(ctx, claim) {
			return nil
		}
	}
	return nil
}

package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/aws/image"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/podnetwork"
	"github.com/kerf-sh/kerf/internal/aws/userdata"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// launchPlan is what to ask EC2 for, for claims that look alike. It is immutable.
type launchPlan struct {
	request   fleet.Request
	templates []*launchtemplate.Template
	// own is the user's own launch template in place of templates; image is what it boots.
	own     *awsv1.LaunchTemplate
	image   string
	tenancy string
	// addresses is how many addresses of its subnet the pods take that an instance is launched for, at least.
	addresses int
}

// maxPlans bounds how many plans are kept; a burst has few different ones.
const maxPlans = 256

// plans keeps plans by everything that they depend on, so that a burst of equal claims is planned once.
type plans struct {
	mu  sync.Mutex
	all map[planKey]*launchPlan
	// allowed are the partitions that may be chosen, by the key without one.
	allowed map[planKey][]int32
}

type planKey struct {
	// types is where the list of types begins, which stands for the list: lists are made anew when anything changed. It is weak,
	// so that a plan that is kept does not hold a list of which nothing else is known any more.
	types   weak.Pointer[*catalog.Type]
	class   string
	version int64
	rest    string

	spotUntagged bool
	partition    int32 // of the placement group
}

func (p *plans) get(k planKey) *launchPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[k]
}

func (p *plans) put(k planKey, plan *launchPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil || len(p.all) >= maxPlans {
		p.all = map[planKey]*launchPlan{}
	}
	p.all[k] = plan
}

// partitions are the partitions of a placement group that a plan may be for.
func (p *plans) partitions(k planKey, find func() []int32) []int32 {
	p.mu.Lock()
	known, ok := p.allowed[k]
	p.mu.Unlock()
	if ok {
		return known
	}
	found := find()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.allowed == nil || len(p.allowed) >= maxPlans {
		p.allowed = map[planKey][]int32{}
	}
	p.allowed[k] = found
	return found
}

// plan decides what to ask for.
func (p *Provider) plan(ctx context.Context, claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, types []*catalog.Type) (*launchPlan, error) {
	cluster, err := p.clusterInput(ctx, class)
	if err != nil {
		return nil, err
	}
	key, err := newPlanKey(claim, class, types, cluster)
	if err != nil {
		return nil, err
	}
	key.spotUntagged = p.spotUntagged.Load()
	want := wantOf(claim)
	want.PriceBound = p.opts.LaunchPriceBound
	p.inPartition(ctx, claim, class, types, &key, &want)
	if known := p.plans.get(key); known != nil {
		return known, nil
	}
	choice, err := fleet.Choose(types, want)
	if err != nil {
		return nil, err
	}
	plan, err := p.newPlan(claim, class, cluster, choice)
	if err != nil {
		return nil, err
	}
	p.plans.put(key, plan)
	return plan, nil
}

func newPlanKey(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, types []*catalog.Type, cluster userdata.Cluster) (planKey, error) {
	k := planKey{class: classKey(class), version: class.Generation}
	if len(types) > 0 {
		k.types = weak.Make(&types[0])
	}
	rest, err := json.Marshal([]any{
		claim.Spec, claim.Labels, relaxed(claim), cluster, class.Status.InstanceProfile, class.Status.SecurityGroups, class.Status.LaunchTemplate.Ref(), class.Status.PlacementGroup,
	})
	if err != nil {
		return k, fmt.Errorf("reading NodeClaim %q: %w", claim.Name, err)
	}
	k.rest = string(rest)
	return k, nil
}

func (p *Provider) newPlan(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, cluster userdata.Cluster, choice *fleet.Choice) (*launchPlan, error) {
	tags := launchtemplate.Tags(class, p.clusterTag(), claim.Labels[karpv1.NodePoolLabelKey])
	plan := &launchPlan{tenancy: choice.Tenancy, request: fleet.Request{
		CapacityType: choice.CapacityType,
		Reservation:  choice.Reservation,
		Tags:         tags,
		Subnets:      p.networks.ForLaunches(class.Status.Subnets),
		ByPriority:   claim.Annotations[karpv1.PriceOverlayAppliedAnnotationKey] == "true" || priceOverlaid(choice),
	}}
	if g := class.Status.PlacementGroup; g != nil {
		plan.request.Group, plan.request.Partition = g.ID, choice.Partition
	}
	if class.Spec.Context != nil && !relaxed(claim) {
		plan.request.Context = *class.Spec.Context
	}
	plan.addresses = p.plannedAddresses(choice, claim)
	for _, g := range p.groups(choice, class, claim) {
		if class.Spec.LaunchTemplate != nil {
			if err := plan.launchOwn(class, g); err != nil {
				return nil, err
			}
			continue
		}
		t, err := p.template(claim, class, cluster, choice, g, tags)
		if err != nil {
			return nil, err
		}
		plan.templates = append(plan.templates, t)
		plan.request.Templates = append(plan.request.Templates, fleet.Template{Name: t.Name, Demand: demand(class, g, cluster.IPv6), Overrides: g.overrides})
	}
	if len(plan.request.Templates) == 0 {
		return nil, &cloud.Error{Op: "choosing images", Class: cloud.ClassNotReady, Reason: awsv1.ReasonAMINotFound,
			Err: fmt.Errorf("EC2NodeClass %q has no image for any of the %d chosen instance types", class.Name, len(choice.Picks))}
	}
	return plan, nil
}

// group is the pools that one launch template serves: same image, same number of pods, same interfaces, same reservation.
type group struct {
	image   string
	maxPods int64
	efas    int64
	// plainFirst is set where the first network card has no EFA.
	plainFirst bool
	reserved   string // ID of the reservation
	overrides  []fleet.Override
}

// groups are sorted by their cheapest pool, as the picks are.
func (p *Provider) groups(choice *fleet.Choice, class *awsv1.EC2NodeClass, claim *karpv1.NodeClaim) []*group {
	var out []*group
	custom, efa := class.ResolvedAMIFamily() == awsv1.AMIFamilyCustom, wantsEFA(claim)
	network := p.opts.PodNetwork()
	for _, pick := range choice.Picks {
		ami, ok := image.For(class.Status.AMIs, pick.Type.Requirements)
		if !ok {
			continue
		}
		pods, efas := pick.Type.Capacity[res.Pods], int64(0)
		key := pods
		if custom {
			key = 0 // its user data is the user's alone
		}
		if efa && len(class.Spec.NetworkInterfaces) == 0 {
			efas = pick.Type.Capacity[awsv1.ResourceEFA]
		}
		plain := p.plainFirst(pick.Type.Name, efas)
		for _, o := range pick.Offerings {
			i := slices.IndexFunc(out, func(g *group) bool {
				return g.image == ami.ID && g.maxPods == key && g.efas == efas && g.plainFirst == plain && g.reserved == o.ReservationID
			})
			if i < 0 {
				out = append(out, &group{image: ami.ID, maxPods: key, efas: efas, plainFirst: plain, reserved: o.ReservationID})
				i = len(out) - 1
			}
			out[i].overrides = append(out[i].overrides, fleet.Override{
				InstanceType: pick.Type.Name, Zone: o.Zone, ImageID: ami.ID, Addresses: p.addresses(network, pick.Type.Name, pods), Price: o.Price,
				ReservationID: o.ReservationID,
			})
		}
	}
	return out
}

// cards is how many network cards a type has; 0 for a type that is not known. Where one more than EFA interfaces, the first
// has none. Source: EC2 User Guide, EFA on P6-B300.
func (p *Provider) cards(instanceType string) int {
	if s := p.discovery.Snapshot(); s != nil {
		if i, ok := s.Find(instanceType); ok {
			return len(s.Types[i].Network.ENIsPerCard)
		}
	}
	return 0
}

// addresses is how many addresses of an instance's subnet so many pods take; one each for a type that is not known.
func (p *Provider) addresses(n podnetwork.Settings, instanceType string, pods int64) int {
	if s := p.discovery.Snapshot(); s != nil {
		if i, ok := s.Find(instanceType); ok {
			return int(n.SubnetAddresses(&s.Types[i], pods))
		}
	}
	return int(pods)
}

// plannedAddresses is what the pods that a claim is made for take at least.
func (p *Provider) plannedAddresses(choice *fleet.Choice, claim *karpv1.NodeClaim) int {
	pods, network, least := claim.Spec.Resources.Requests.Pods().Value(), p.opts.PodNetwork(), -1
	for _, pick := range choice.Picks {
		if n := p.addresses(network, pick.Type.Name, pods); least < 0 || n < least {
			least = n
		}
	}
	return max(0, least)
}

func (p *Provider) template(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, cluster userdata.Cluster, choice *fleet.Choice, g *group, tags map[string]string) (*launchtemplate.Template, error) {
	labels := map[string]string{karpv1.CapacityTypeLabelKey: choice.CapacityType}
	for k, v := range claim.Labels {
		if k != karpv1.CapacityTypeLabelKey {
			labels[k] = v
		}
	}
	taints := append(slices.Clone(claim.Spec.Taints), claim.Spec.StartupTaints...)
	input := userdataInput(class, cluster, labels, taints, int32(g.maxPods))
	input.ImageName = imageName(class, g.image)
	data, err := userdata.Build(input)
	if err != nil {
		return nil, err
	}
	in := p.templateInput(class, cluster, tags, data)
	in.ImageID, in.Tenancy, in.EFAs = g.image, choice.Tenancy, int(g.efas)
	in.PlainFirst, in.Partition = g.plainFirst, choice.Partition
	in.SpotTags = choice.CapacityType == catalog.Spot && !p.spotUntagged.Load()
	if g.reserved != "" {
		in.Reservation = &launchtemplate.Reservation{ID: g.reserved, Type: choice.Reservation.Type, Interruptible: choice.Reservation.Interruptible}
	}
	return launchtemplate.Build(in)
}

// imageName is the name of one of a class's images, empty when it has none of that id.
func imageName(class *awsv1.EC2NodeClass, id string) string {
	for i := range class.Status.AMIs {
		if class.Status.AMIs[i].ID == id {
			return class.Status.AMIs[i].Name
		}
	}
	return ""
}

func userdataInput(class *awsv1.EC2NodeClass, cluster userdata.Cluster, labels map[string]string, taints []corev1.Taint, maxPods int32) userdata.Input {
	in := userdata.Input{
		Family: class.ResolvedAMIFamily(), Cluster: cluster, Labels: labels, Taints: taints, Kubelet: class.Spec.Kubelet,
		MaxPods: maxPods, InstanceStore: class.Spec.InstanceStorePolicy,
	}
	if class.Spec.UserData != nil {
		in.UserData = *class.Spec.UserData
	}
	return in
}

func (p *Provider) templateInput(class *awsv1.EC2NodeClass, cluster userdata.Cluster, tags map[string]string, data string) launchtemplate.Input {
	groups := make([]string, len(class.Status.SecurityGroups))
	for i, g := range class.Status.SecurityGroups {
		groups[i] = g.ID
	}
	in := launchtemplate.Input{
		Class: class, Region: p.session.Region, Tags: tags, UserData: data, InstanceProfile: class.Status.InstanceProfile,
		SecurityGroups: groups, Family: class.ResolvedAMIFamily(), IPv6: cluster.IPv6, NoOpenReservations: p.opts.ReservedCapacity,
	}
	if g := class.Status.PlacementGroup; g != nil {
		in.Group = g.ID
	}
	return in
}

// clusterInput is what nodes need to find the cluster. EKS is asked for what is not set; only what the class's family
// can't do without is an error.
func (p *Provider) clusterInput(ctx context.Context, class *awsv1.EC2NodeClass) (userdata.Cluster, error) {
	out := userdata.Cluster{
		Name: p.opts.ClusterName, Endpoint: p.opts.ClusterEndpoint, CABundle: p.opts.ClusterCABundle(), DNSIP: p.dnsIP(ctx),
	}
	// Interfaces need IPv6 addresses whatever the family is. The address of the DNS service says so without asking EKS.
	dns, _ := netip.ParseAddr(out.DNSIP)
	out.IPv6 = dns.Is6() || p.ipv6()
	if class.ResolvedAMIFamily() == awsv1.AMIFamilyCustom {
		return out, nil
	}
	facts, err := p.clusterFacts(ctx)
	if err != nil {
		if out.Endpoint == "" || class.ResolvedAMIFamily() == awsv1.AMIFamilyAL2023 {
			return out, err
		}
		return out, nil
	}
	if out.Endpoint == "" {
		out.Endpoint = facts.endpoint
	}
	out.ServiceCIDR, out.IPv6 = facts.serviceCIDR, facts.ipv6
	return out, nil
}

func relaxed(claim *karpv1.NodeClaim) bool {
	return claim.Annotations[karpv1.NodeClaimMinValuesRelaxedAnnotationKey] == "true"
}

// wantOf reads what a claim demands.
func wantOf(claim *karpv1.NodeClaim) fleet.Want {
	w := fleet.Want{RelaxMinValues: relaxed(claim), Requests: res.List{}}
	for _, r := range claim.Spec.Requirements {
		t := requirement.Term{Key: r.Key, Operator: requirement.Operator(r.Operator), Values: r.Values}
		if r.MinValues != nil {
			t.MinValues = *r.MinValues
		}
		w.Requirements = append(w.Requirements, t)
	}
	for name, q := range claim.Spec.Resources.Requests {
		if name == corev1.ResourceCPU {
			w.Requests[res.CPU] = q.MilliValue()
		} else {
			w.Requests[string(name)] = q.Value()
		}
	}
	return w
}

package permissions_test

import (
	"context"
	"encoding/base64"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/controller/garbagecollection"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
	"github.com/kerf-sh/kerf/internal/controller/terminate"
	"github.com/kerf-sh/kerf/internal/controller/zoneshift"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// A path is one thing that the controller does. prepare sets it up while everything is allowed and returns what runs it.
// A path that works leaves nothing in the output.
type path struct {
	name    string
	prepare func(c *cluster) (run func())
}

// Paths, by name.
const (
	starting        = "starting"
	pricing         = "reading types and prices"
	resolving       = "resolving a class"
	byParameter     = "resolving a class by a parameter of the user's"
	resolvedOnce    = "resolving a class that has its profile"
	fixing          = "putting an instance profile right"
	launching       = "launching an instance"
	launchingSpot   = "launching a spot instance"
	reserving       = "launching an instance out of a capacity reservation"
	placing         = "launching an instance in a placement group"
	encrypting      = "launching an instance with encrypted disks"
	ofTheUser       = "launching a spot instance from a launch template of the user's"
	takingOver      = "taking over from another leader"
	tagging         = "tagging an instance that has joined"
	ending          = "ending an instance"
	comparing       = "ending an instance without a NodeClaim"
	unusedRoles     = "deleting instance profiles that nobody uses"
	releasing       = "giving back what a class had"
	unusedLaunch    = "deleting launch templates that nobody uses"
	readingTheQueue = "reading the interruption queue"
	statuses        = "reading the status of instances"
	shifting        = "reading zonal shifts"
)

// paths are all that the controller does at AWS. Later ones may take away what earlier ones have.
var paths = []path{
	{starting, func(c *cluster) func() {
		p := c.process()
		return func() {
			if err := p.Check(c.t.Context()); err != nil {
				c.amiss("the controller ends with: %v", err)
			}
		}
	}},
	{pricing, func(c *cluster) func() {
		p := c.process()
		return func() { p.RefreshOnce(c.t.Context()) }
	}},
	{resolving, func(c *cluster) func() {
		p := c.checked()
		c.create(newClass("new"))
		return func() { c.resolve(p, "new") }
	}},
	{byParameter, func(c *cluster) func() {
		p := c.checked()
		// What the alias of another class needs is not needed here.
		c.ready(p, "parameter", ofUser)
		p = c.checked()
		return func() { c.resolve(p, "parameter") }
	}},
	{resolvedOnce, func(c *cluster) func() {
		c.ready(c.checked(), "again")
		p := c.checked()
		return func() { c.resolve(p, "again") }
	}},
	{fixing, func(c *cluster) func() {
		class := c.ready(c.checked(), "fix")
		w, name := c.sim.World, class.Status.InstanceProfile
		if err := w.RemoveRoleFromInstanceProfile(name, class.Spec.Role); err != nil {
			c.t.Fatal(err)
		}
		if err := w.AddRoleToInstanceProfile(name, otherRole); err != nil {
			c.t.Fatal(err)
		}
		p := c.checked()
		return func() {
			c.resolve(p, "fix")
			if i, err := w.InstanceProfile(name); err != nil || i.Role != class.Spec.Role {
				c.amiss("the profile has role %q", i.Role)
			}
		}
	}},
	{launching, func(c *cluster) func() {
		p := c.leader()
		c.ready(p, "launch")
		c.create(newClaim("launch", "launch", karpv1.CapacityTypeOnDemand))
		return func() { c.launch(p, "launch") }
	}},
	{launchingSpot, func(c *cluster) func() {
		p := c.leader()
		c.ready(p, "spot")
		c.create(newClaim("spot", "spot", karpv1.CapacityTypeSpot))
		return func() {
			claim := c.launch(p, "spot")
			i, _ := c.sim.World.Instance(instance(claim.Status.ProviderID))
			if claim.Status.ProviderID != "" && i.CapacityType != karpv1.CapacityTypeSpot {
				c.amiss("the instance is %s", i.CapacityType)
			}
		}
	}},
	{reserving, func(c *cluster) func() {
		reserved := func(o *aws.Options) { o.ReservedCapacity = true }
		class := c.ready(c.leader(reserved), "reserved")
		class.Spec.CapacityReservationSelectorTerms = c.reservation()
		class.Generation++ // what was found counts no more
		if err := c.kube.Update(c.t.Context(), class); err != nil {
			c.t.Fatal(err)
		}
		c.create(newClaim("reserved", "reserved", karpv1.CapacityTypeReserved))
		p := c.leader(reserved)
		return func() {
			c.resolve(p, "reserved")
			claim := c.launch(p, "reserved")
			if i, _ := c.sim.World.Instance(instance(claim.Status.ProviderID)); claim.Status.ProviderID != "" && i.CapacityReservationID == "" {
				c.amiss("the instance is of no reservation")
			}
		}
	}},
	{placing, func(c *cluster) func() {
		class := c.ready(c.leader(), "placed")
		g, err := c.sim.World.AddPlacementGroup("ours", world.GroupPartition, 2, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		class.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "ours"}
		class.Generation++ // what was found counts no more
		if err := c.kube.Update(c.t.Context(), class); err != nil {
			c.t.Fatal(err)
		}
		c.create(newClaim("placed", "placed", karpv1.CapacityTypeOnDemand))
		p := c.leader()
		return func() {
			c.resolve(p, "placed")
			claim := c.launch(p, "placed")
			if i, _ := c.sim.World.Instance(instance(claim.Status.ProviderID)); claim.Status.ProviderID != "" && (i.PlacementGroupID != g.ID || i.Partition == 0) {
				c.amiss("the instance stands in group %q, partition %d", i.PlacementGroupID, i.Partition)
			}
		}
	}},
	{encrypting, func(c *cluster) func() {
		p := c.leader()
		c.ready(p, "disks", func(class *awsv1.EC2NodeClass) {
			class.Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{
				DeviceName: new("/dev/xvda"), EBS: &awsv1.BlockDevice{Encrypted: new(true), KMSKeyID: &c.volumeKey, VolumeSize: new(resource.MustParse("20Gi"))},
			}}
		})
		c.create(newClaim("disks", "disks", karpv1.CapacityTypeOnDemand))
		return func() {
			claim := c.launch(p, "disks")
			if i, ok := c.sim.World.Instance(instance(claim.Status.ProviderID)); claim.Status.ProviderID != "" && (!ok || i.State != "running") {
				c.compare(p) // finds out that the instance is no more
			}
		}
	}},
	{ofTheUser, func(c *cluster) func() {
		p := c.leader()
		id := c.userTemplate("user-made")
		c.ready(p, "own", func(class *awsv1.EC2NodeClass) {
			class.Spec.Role, class.Spec.AMISelectorTerms, class.Spec.SecurityGroupSelectorTerms = "", nil, nil
			class.Spec.LaunchTemplate = &awsv1.LaunchTemplateReference{Name: "user-made"}
		})
		p = c.leader() // one that has not read the template yet
		c.create(newClaim("own", "own", karpv1.CapacityTypeSpot))
		return func() {
			c.resolve(p, "own")
			claim := c.launch(p, "own")
			if i, _ := c.sim.World.Instance(instance(claim.Status.ProviderID)); claim.Status.ProviderID != "" && i.LaunchTemplateID != id {
				c.amiss("the instance is of template %s", i.LaunchTemplateName)
			}
		}
	}},
	{takingOver, func(c *cluster) func() {
		old := c.leader()
		class := c.ready(old, "takeover")
		claim := newClaim("takeover", "takeover", karpv1.CapacityTypeOnDemand)
		c.create(claim)
		launched, err := old.Launch(c.t.Context(), claim, class)
		if err != nil {
			c.t.Fatal(err)
		}
		p := c.checked()
		if err := p.Warm(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
		return func() {
			p.Begin(c.t.Context(), []string{string(claim.UID)})
			if got := c.launch(p, "takeover").Status.ProviderID; got != launched.ProviderID {
				c.amiss("instance %s was launched, the claim has %q", launched.ProviderID, got)
			}
		}
	}},
	{tagging, func(c *cluster) func() {
		p := c.leader()
		c.ready(p, "join")
		claim := c.launched(p, "join", "join")
		c.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-join"}, Spec: corev1.NodeSpec{
			ProviderID: claim.Status.ProviderID, Taints: []corev1.Taint{karpv1.UnregisteredNoExecuteTaint()},
		}})
		return func() {
			c.step(p, "join")
			if i, _ := c.sim.World.Instance(instance(claim.Status.ProviderID)); i.Tags["Name"] != "node-join" {
				c.amiss("the instance has the tags %v", i.Tags)
			}
		}
	}},
	{ending, func(c *cluster) func() {
		p := c.leader()
		c.ready(p, "end")
		claim := c.launched(p, "end", "end")
		if err := c.kube.Delete(c.t.Context(), claim); err != nil {
			c.t.Fatal(err)
		}
		return func() {
			r := &terminate.Claims{Client: c.kube, Cloud: p, Recorder: c.recorder, Metrics: c.metrics, Log: c.log, Clock: clock.RealClock{}}
			if _, err := r.Reconcile(c.t.Context(), request("end")); err != nil {
				c.amiss("the NodeClaim stays: %v", err)
			}
			c.gone(claim.Status.ProviderID)
		}
	}},
	{comparing, func(c *cluster) func() {
		p := c.leader()
		class := c.ready(p, "stray")
		stray, err := p.Launch(c.t.Context(), newClaim("stray", "stray", karpv1.CapacityTypeOnDemand), class)
		if err != nil {
			c.t.Fatal(err)
		}
		return func() { c.compare(p); c.gone(stray.ProviderID) }
	}},
	{unusedRoles, func(c *cluster) func() {
		// A class that is in no API any more.
		r, err := c.checked().Resolve(c.t.Context(), newClass("forgotten"))
		if err != nil {
			c.t.Fatal(err)
		}
		var used awsv1.EC2NodeClassList
		p := c.checked()
		return func() {
			if err := c.kube.List(c.t.Context(), &used); err != nil {
				c.t.Fatal(err)
			}
			inUse := map[string]bool{}
			for i := range used.Items {
				inUse[used.Items[i].Status.InstanceProfile] = true
			}
			if _, err := p.CollectProfiles(c.t.Context(), inUse); err != nil {
				c.log.Warn(profilesStay, "error", err)
			}
			if _, err := c.sim.World.InstanceProfile(r.InstanceProfile); err == nil {
				c.amiss("instance profile %s is still there", r.InstanceProfile)
			}
		}
	}},
	{releasing, func(c *cluster) func() {
		p := c.leader()
		class := c.ready(p, "gone")
		if err := c.kube.Delete(c.t.Context(), class); err != nil {
			c.t.Fatal(err)
		}
		return func() {
			c.resolve(p, "gone")
			if err := c.kube.Get(c.t.Context(), request("gone").NamespacedName, class); err == nil {
				c.amiss("an EC2NodeClass stays when it is deleted")
			}
		}
	}},
	{unusedLaunch, func(c *cluster) func() {
		time := &wall{}
		p := c.leader(func(o *aws.Options) { o.Now = time.now })
		c.ready(p, "idle")
		return func() {
			time.forward(idle)
			p.CollectTemplatesOnce(c.t.Context())
			for _, t := range c.sim.World.Templates() {
				if t.Name != "user-made" {
					c.amiss("launch template %s is still there", t.Name)
				}
			}
		}
	}},
	{readingTheQueue, func(c *cluster) func() {
		p := c.process()
		c.create(newClass("queue"))
		const body = `{"version":"0","id":"e","detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2","account":"1","time":"2026-01-02T03:04:05Z",` +
			`"region":"eu-west-1","resources":[],"detail":{"instance-id":"i-0fffffffffffffff0","instance-action":"terminate"}}`
		if _, err := c.sim.World.SendMessage(clusterName, "events", body, nil, 0); err != nil {
			c.t.Fatal(err)
		}
		return func() {
			r := c.interrupt(p)
			r.Queue = p.Queue()
			// Instances that were launched before have sent messages, too. A failure is told of in the log and in the condition.
			// A round that deletes nothing is the last: what it received is hidden from the next for half a minute.
			left, err := c.sim.World.Messages(clusterName)
			for before := len(left) + 1; 0 < len(left) && len(left) < before && err == nil; {
				before = len(left)
				if err = r.Round(c.t.Context()); err == nil {
					left, err = c.sim.World.Messages(clusterName)
				}
			}
			c.report(r, "queue", awsv1.ConditionTypeInterruptionQueueReady)
			if len(left) != 0 {
				c.amiss("%d messages are still there", len(left))
			}
		}
	}},
	{statuses, func(c *cluster) func() {
		p := c.leader()
		c.ready(p, "status")
		claim := c.launched(p, "status", "status")
		return func() {
			r := c.interrupt(p)
			r.Instances.Set(nil, claim, time.Now())
			if err := r.Poll(c.t.Context()); err != nil {
				c.amiss("reading statuses: %v", err)
			}
			c.report(r, "status", awsv1.ConditionTypeInstanceStatusReady)
		}
	}},
	{shifting, func(c *cluster) func() {
		if err := c.sim.World.EnableZonalShift(clusterName, true); err != nil {
			c.t.Fatal(err)
		}
		p := c.checked(func(o *aws.Options) { o.ClusterEndpoint = "" }) // asks EKS, which knows the cluster's ARN
		return func() {
			loop := &zoneshift.Controller{Client: c.kube, Shifts: p, Recorder: c.recorder, Log: c.log, Clock: clock.RealClock{}}
			loop.Look(c.t.Context())
		}
	}},
}

// idle is longer than a launch template may go unused.
const idle = 7 * time.Hour

func ofUser(class *awsv1.EC2NodeClass) {
	class.Spec.AMIFamily = new(awsv1.AMIFamilyAL2023)
	class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{SSMParameter: parameter}}
}

// reservation makes a capacity reservation, and returns what selects it.
func (c *cluster) reservation() []awsv1.CapacityReservationSelectorTerm {
	tags := map[string]string{"for": "permissions"}
	subnets := c.sim.World.Subnets()
	for i := range subnets {
		if !c.sim.World.Offered("m5.large", subnets[i].Zone) {
			continue
		}
		if _, err := c.sim.World.AddReservation(world.Reservation{Type: "m5.large", Zone: subnets[i].Zone, Total: 1, MatchCriteria: "targeted", Tags: tags}); err != nil {
			c.t.Fatal(err)
		}
		break
	}
	return []awsv1.CapacityReservationSelectorTerm{{Tags: tags}}
}

// userTemplate makes a launch template as a user would, with a role that is not the node role.
func (c *cluster) userTemplate(name string) (id string) {
	w := c.sim.World
	if t, err := w.Template(world.TemplateRef{Name: name}); err == nil {
		return t.ID
	}
	if _, err := w.CreateInstanceProfile(name, "/", nil); err != nil {
		c.t.Fatal(err)
	}
	if err := w.AddRoleToInstanceProfile(name, otherRole); err != nil {
		c.t.Fatal(err)
	}
	var image string
	for _, i := range w.Images() {
		if i.Family == world.FamilyAL2 && i.Arch == "x86_64" {
			image = i.ID
		}
	}
	t, err := w.CreateTemplate(name, "", "user", "", world.LaunchData{
		ImageID: image, IamInstanceProfile: &world.ProfileRef{Name: name},
		UserData: base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh " + clusterName + "\n")),
	}, map[string]string{"karpenter.sh/discovery": clusterName})
	if err != nil {
		c.t.Fatal(err)
	}
	return t.ID
}

// gone notes if an instance still runs.
func (c *cluster) gone(providerID string) {
	if i, ok := c.sim.World.Instance(instance(providerID)); ok && i.State == "running" {
		c.amiss("instance %s runs on", providerID)
	}
}

// compare runs the loop that compares instances with NodeClaims twice, the second time when its patience is over.
func (c *cluster) compare(p *aws.Provider) {
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	clk := clocktesting.NewFakeClock(time.Now())
	g := &garbagecollection.Collector{Client: c.kube, APIReader: c.kube, Cloud: p, Recorder: c.recorder, Metrics: c.metrics, Log: c.log, Clock: clk}
	done := make(chan error, 1)
	go func() { done <- g.Start(ctx) }()
	for range 2 {
		await(c.t, "the end of a round", clk.HasWaiters)
		clk.Step(time.Minute)
	}
	await(c.t, "the end of the last round", clk.HasWaiters)
	cancel()
	if err := <-done; err != nil {
		c.t.Error(err)
	}
}

func (c *cluster) interrupt(p *aws.Provider) *interruption.Controller {
	return &interruption.Controller{
		Client: c.kube, APIReader: c.kube, Cloud: p, Statuses: p.Statuses(), Instances: &interruption.Instances{}, Recorder: c.recorder, Metrics: c.metrics,
		Log: c.log, Clock: clock.RealClock{},
	}
}

// report lets the interruption loop write its conditions, and notes that of a class if it is not true.
func (c *cluster) report(r *interruption.Controller, class, condition string) {
	if err := r.Report(c.t.Context()); err != nil {
		c.t.Error(err)
	}
	found := &awsv1.EC2NodeClass{}
	c.get(found, class)
	if has := found.StatusConditions(false).Get(condition); has != nil {
		c.conditions("EC2NodeClass "+class, []status.Condition{*has})
	}
}

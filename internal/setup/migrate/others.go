package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/settings"
)

// programs act on nodes as well. They are known by the image's name.
var programs = []struct {
	image, name, why string
	fix              string
}{
	{"cluster-autoscaler", "Cluster Autoscaler", "it scales Auto Scaling groups, and Kerf its own nodes; a pod that both can place gets two nodes",
		"# have its groups hold nothing that NodePools place, or scale it down:\nkubectl --namespace %s scale deployment %s --replicas 0"},
	{"descheduler", "descheduler", "it evicts pods from nodes that Kerf has packed; a node that is emptied so is removed, and another may be launched", ""},
	{"spotinst", "Spot Ocean", "it launches and removes nodes for the same pods", "# let one of the two do it"},
	{"ocean-controller", "Spot Ocean", "it launches and removes nodes for the same pods", "# let one of the two do it"},
	{"castai", "CAST AI", "it launches and removes nodes for the same pods", "# let one of the two do it"},
}

// others are programs that act on nodes besides the controller.
func (e *examination) others() {
	before := len(e.findings)
	for _, w := range e.Workloads {
		for _, p := range programs {
			if w.Replicas == 0 || !slices.ContainsFunc(append(w.Images, w.Name), func(s string) bool { return strings.Contains(s, p.image) }) {
				continue
			}
			f := e.differs(w.String(), "%s runs in the cluster", p.name).why("%s, with Karpenter as with Kerf", p.why)
			if strings.Contains(p.fix, "%s") {
				for line := range strings.Lines(fmt.Sprintf(p.fix, w.Namespace, w.Name)) {
					f.fix(strings.TrimSpace(line))
				}
			} else if p.fix != "" {
				f.fix(p.fix)
			}
			break
		}
	}
	for _, h := range e.Handlers {
		f := e.differs(h.String(), "the AWS Node Termination Handler runs, on %d nodes", h.Pods)
		if h.Queue != "" {
			f.with("it reads the queue " + h.Queue)
		}
		f.why("it drains the same nodes on the same notices as Karpenter and Kerf do, and must not read their queue").
			fix("kerf doctor   # check termination-handler says which of its actions collide")
	}
	if e.definition(autoModeClass) != nil {
		e.differs("CustomResourceDefinition "+autoModeClass, "EKS Auto Mode is or was switched on").
			why("it has NodePools of its own, whose class is a NodeClass of eks.amazonaws.com; Kerf leaves them alone, as Karpenter does")
	}
	e.moreControllers()
	e.leader()
	if len(e.findings) == before {
		e.fine("the cluster", "no other program that launches, removes or drains nodes was found")
	}
}

// moreControllers are others of the same API.
func (e *examination) moreControllers() {
	for _, c := range e.Controllers {
		if d := e.Deployment; d != nil && (c.Namespace != d.Namespace || c.Name != d.Name) {
			e.blocks("Deployment "+c.Namespace+"/"+c.Name, "it runs a controller of the same API besides %s/%s", d.Namespace, d.Name).
				why("two controllers with two Leases launch twice for the same pods").
				fix(fmt.Sprintf("kubectl --namespace %s scale deployment %s --replicas 0   # unless it runs kerf controller --shadow", c.Namespace, c.Name))
		}
	}
}

// leader is who holds the Lease.
func (e *examination) leader() {
	if e.Deployment == nil {
		return
	}
	if e.Lease == nil {
		e.unknown("Lease "+e.Deployment.Namespace+"/"+settings.LeaseName, "there is none, or it could not be read").
			why("Kerf waits for the Lease before it acts; two controllers with different Leases act at once").
			fix("kubectl --namespace " + e.Deployment.Namespace + " get lease")
		return
	}
	object := "Lease " + e.Lease.Namespace + "/" + e.Lease.Name
	holder := ""
	if e.Lease.Spec.HolderIdentity != nil {
		holder = *e.Lease.Spec.HolderIdentity
	}
	host, _, _ := strings.Cut(holder, "_")
	network := e.Deployment.Spec.Template.Spec.HostNetwork // then the pods call themselves what their nodes do
	switch {
	case network && slices.ContainsFunc(e.Pods, func(p Pod) bool {
		return p.Node == host || strings.HasPrefix(p.Node, host+".") || strings.HasPrefix(host, p.Node+".")
	}):
		e.fine(object, "%s holds it, on a node of a pod of the Deployment; Kerf waits until it is given up", holder)
	case holder == "":
		e.differs(object, "nobody holds it").why("no controller acts at present; Kerf takes it at once")
	case !slices.ContainsFunc(e.Pods, func(p Pod) bool { return p.Name == host }):
		e.differs(object, "its holder calls itself %s, which is the name of no pod of the Deployment", holder).
			why("a controller outside the cluster holds it, or one that has the name of its host, as in a local cluster; Kerf waits until the holder gives it up or does not renew it any more").
			fix(fmt.Sprintf("kubectl --namespace %s get lease %s --watch   # whether it is renewed", e.Lease.Namespace, e.Lease.Name))
	default:
		e.fine(object, "%s holds it; Kerf waits until it is given up", holder)
	}
}

package intake

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func amounts(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func container(name string, requests corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: requests}}
}

func sidecar(name string, requests corev1.ResourceList) corev1.Container {
	c := container(name, requests)
	c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return c
}

func TestPodRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  corev1.Pod
		want res.List
	}{
		"containers add up, in millicores and bytes": {
			pod:  corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1500m", "memory", "1Gi")), container("b", amounts("cpu", "0.1", "nvidia.com/gpu", "2"))}}},
			want: res.List{"cpu": 1600, "memory": 1 << 30, "nvidia.com/gpu": 2, "pods": 1},
		},
		"the largest init container counts, not their sum": {
			pod: corev1.Pod{Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{container("i", amounts("cpu", "3")), container("j", amounts("cpu", "2"))},
				Containers:     []corev1.Container{container("a", amounts("cpu", "1", "memory", "1Gi"))}}},
			want: res.List{"cpu": 3000, "memory": 1 << 30, "pods": 1},
		},
		"a sidecar counts beside the init containers after it only": {
			pod: corev1.Pod{Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{container("before", amounts("cpu", "4")), sidecar("s", amounts("cpu", "1")), container("after", amounts("cpu", "3500m"))},
				Containers:     []corev1.Container{container("a", amounts("cpu", "1"))}}},
			want: res.List{"cpu": 4500, "pods": 1},
		},
		"requests of the pod itself take the place of the containers'": {
			pod: corev1.Pod{Spec: corev1.PodSpec{
				Resources:  &corev1.ResourceRequirements{Requests: amounts("cpu", "2")},
				Containers: []corev1.Container{container("a", amounts("cpu", "5", "memory", "1Gi"))}}},
			want: res.List{"cpu": 2000, "memory": 1 << 30, "pods": 1},
		},
		"overhead comes on top": {
			pod:  corev1.Pod{Spec: corev1.PodSpec{Overhead: amounts("cpu", "250m"), Containers: []corev1.Container{container("a", amounts("cpu", "1"))}}},
			want: res.List{"cpu": 1250, "pods": 1},
		},
		"during a resize the larger of asked and allocated counts": {
			pod: corev1.Pod{
				Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1"))}},
				Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "a", AllocatedResources: amounts("cpu", "3"),
					Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "2")}}}}},
			want: res.List{"cpu": 3000, "pods": 1},
		},
		"amounts of zero are no request":     {pod: corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("nvidia.com/gpu", "0"))}}}, want: res.List{"pods": 1}},
		"fractions of a unit are rounded up": {pod: corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "100u", "memory", "1500m"))}}}, want: res.List{"cpu": 1, "memory": 2, "pods": 1}},
		"the amounts of the largest instances are kept": {
			pod:  corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1920", "memory", "32Ti", "ephemeral-storage", "336T"))}}},
			want: res.List{"cpu": 1_920_000, "memory": 32 << 40, "ephemeral-storage": 336e12, "pods": 1},
		},
		"an absurd amount does not wrap around": {
			pod:  corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "9E", "memory", "99999E"))}}},
			want: res.List{"cpu": maxAmount, "memory": maxAmount, "pods": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, PodRequests(&tt.pod)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func basePod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", Labels: map[string]string{"app": "web", "pod-template-hash": "h1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1"))}, Priority: new(int32(0))},
	}
}

func spreadOver(key string, selector map[string]string, matchKeys ...string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: selector}, MatchLabelKeys: matchKeys}
}

// TestWhatMakesAClass edits a pod and says whether it is still of the same class.
func TestWhatMakesAClass(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*corev1.Pod)
		same bool
	}{
		"name, UID and time of creation": {func(p *corev1.Pod) { p.Name, p.UID = "q", "v"; p.CreationTimestamp = metav1.Now() }, true},
		"a label that nobody selects":    {func(p *corev1.Pod) { p.Labels["job-id"] = "7" }, true},
		"a label that is selected":       {func(p *corev1.Pod) { p.Labels["app"] = "db" }, false},
		"image and environment":          {func(p *corev1.Pod) { p.Spec.Containers[0].Image = "x" }, true},
		"the same amount written otherwise": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = amounts("cpu", "1000m")
		}, true},
		"the same sum in other containers": {func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{container("a", amounts("cpu", "400m")), container("b", amounts("cpu", "600m"))}
		}, true},
		"another request":   {func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = amounts("cpu", "1001m") }, false},
		"another namespace": {func(p *corev1.Pod) { p.Namespace = "other" }, false},
		"a host port":       {func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }, false},
		"a host port of an init container that ends": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Ports: []corev1.ContainerPort{{HostPort: 80}}}}
		}, true},
		"a host port of a sidecar": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Ports: []corev1.ContainerPort{{HostPort: 80}}}}
		}, false},
		"a toleration":    {func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: "Exists"}} }, false},
		"a node selector": {func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} }, false},
		"priority":        {func(p *corev1.Pod) { p.Spec.Priority = new(int32(5)) }, false},
		"a resize that the kubelet carried out": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "1")}}}
		}, true},
		"a resize under way": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "2")}}}
		}, false},
		"an own value of matchLabelKeys": {func(p *corev1.Pod) { p.Labels["pod-template-hash"] = "h2" }, false},
		"a volume without a claim": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access-x7x7x"}}
		}, true},
		"a claim that does not exist": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCompiler()
			a, b := basePod(), basePod()
			a.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spreadOver("zone", map[string]string{"app": "web"}, "pod-template-hash")}
			b.Spec.TopologySpreadConstraints = a.Spec.TopologySpreadConstraints
			tt.edit(b)
			x, y := c.Class(a, NoLookup{}), c.Class(b, NoLookup{})
			if (x == y) != tt.same || (x.ID == y.ID) != tt.same {
				t.Errorf("same pointer %v, same ID %v, want %v\n%s", x == y, x.ID == y.ID, tt.same, cmp.Diff(x, y))
			}
			// Another process, which sees them in another order, gives the same IDs.
			d := NewCompiler()
			d.Class(b, NoLookup{})
			if got := d.Class(a, NoLookup{}); got.ID != x.ID {
				t.Errorf("the ID depends on the order: %s and %s", got.ID, x.ID)
			}
		})
	}
}

// A resize that its node can't take counts no more, of containers and of the pod itself.
func TestAResizeThatBecomesInfeasibleIsAnotherClass(t *testing.T) {
	ofPod := func(p *corev1.Pod) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "8")}
		p.Status.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "2")}
		p.Status.AllocatedResources = amounts("cpu", "2")
	}
	ofContainer := func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = amounts("cpu", "8")
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "2")}, AllocatedResources: amounts("cpu", "2")}}
	}
	for name, resize := range map[string]func(*corev1.Pod){"of the pod": ofPod, "of a container": ofContainer} {
		t.Run(name, func(t *testing.T) {
			warm, pod := NewCompiler(), basePod()
			resize(pod)
			if got := warm.Class(pod, NoLookup{}).Requests["cpu"]; got != 8000 {
				t.Errorf("%dm cpu while the resize is pending, want 8000m", got)
			}
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible})
			got, want := warm.Class(pod, NoLookup{}), NewCompiler().Class(pod, NoLookup{})
			if got.ID != want.ID || want.Requests["cpu"] != 2000 {
				t.Errorf("%dm cpu once it is infeasible, and %dm for a process that begins then, want 2000m", got.Requests["cpu"], want.Requests["cpu"])
			}
		})
	}
}

func TestIdenticalPodsCostOneCompile(t *testing.T) {
	c := NewCompiler()
	for i := range 10_000 {
		p := basePod()
		p.Name, p.Labels["controller-uid"] = fmt.Sprint("p", i), fmt.Sprint(i)
		c.Class(p, NoLookup{})
	}
	if c.Compiled() != 1 {
		t.Errorf("compiled %d classes, want 1", c.Compiled())
	}
}

func TestALabelComesIntoSight(t *testing.T) {
	c := NewCompiler()
	db := basePod()
	before := c.Class(db, NoLookup{})
	c.Fresh()
	if len(before.Labels) != 0 {
		t.Errorf("nobody selects anything, yet the class has labels %v", before.Labels)
	}
	web := basePod()
	web.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spreadOver("zone", map[string]string{"app": "web"})}
	c.Class(web, NoLookup{})
	if got := c.Fresh(); !slices.Equal(got, []string{"app"}) {
		t.Errorf("%q came into sight, want app", got)
	}
	if got := c.Class(db, NoLookup{}); got.Labels["app"] != "web" || len(got.Labels) != 1 {
		t.Errorf("labels %v, want app=web alone", got.Labels)
	}
}

func TestASpreadWithoutTermsCountsNothing(t *testing.T) {
	pod := basePod()
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spreadOver("zone", nil), spreadOver("rack", nil, "app")}
	got := NewCompiler().Class(pod, NoLookup{})
	if s := got.Spreads[0].Selector; s != nil {
		t.Errorf("the selector is %v, want none: the scheduler counts no pods for it", s)
	}
	if s := got.Spreads[1].Selector; s == nil || len(s.Terms) != 1 {
		t.Errorf("the selector is %v, want the term that matchLabelKeys stands for", s)
	}
}

func TestMemoStaysBounded(t *testing.T) {
	c := NewCompiler()
	for i := range 5 * memoSize {
		p := basePod()
		p.Spec.NodeSelector = map[string]string{"n": fmt.Sprint(i)}
		c.Class(p, NoLookup{})
	}
	if n := len(c.young) + len(c.old) + len(c.byID); n > 4*memoSize {
		t.Errorf("the memo holds %d entries", n)
	}
}

// world is a Lookup of fixed objects.
type world struct {
	NoLookup
	pvcs map[string]*corev1.PersistentVolumeClaim
	pvs  map[string]*corev1.PersistentVolume
	scs  map[string]*storagev1.StorageClass
	ns   map[string]map[string]string
	host string
}

func (w world) PersistentVolumeClaim(_, name string) *corev1.PersistentVolumeClaim {
	return w.pvcs[name]
}
func (w world) PersistentVolume(name string) *corev1.PersistentVolume { return w.pvs[name] }
func (w world) StorageClass(name string) *storagev1.StorageClass      { return w.scs[name] }
func (w world) HasHost(name string) bool                              { return w.host == name }
func (w world) HasNode(name string) bool                              { return w.host == name }
func (w world) SelectNamespaces(sel labels.Selector) []string {
	var out []string
	for name, l := range w.ns {
		if sel.Matches(labels.Set(l)) {
			out = append(out, name)
		}
	}
	return sortedSet(out)
}

func TestVolumes(t *testing.T) {
	zones := func(z ...string) *corev1.VolumeNodeAffinity {
		return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "topology.ebs.csi.aws.com/zone", Operator: "In", Values: z}}}}}}
	}
	bound := func(volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{bindCompleted: "yes"}}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	unbound := func(class string) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{}
		if class != "" {
			c.Spec.StorageClassName = &class
		}
		return c
	}
	mine := func(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
		c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: basePod().UID, Controller: new(true)}}
		return c
	}
	gone := metav1.NewTime(time.Unix(1, 0))
	onHost := func(host string, source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source,
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: "In", Values: []string{host}}}}}}}}}
	}
	chosen := func(node string) *corev1.PersistentVolumeClaim {
		c := unbound("wait")
		c.Annotations = map[string]string{"volume.kubernetes.io/selected-node": node}
		return c
	}
	byAnnotation := func(class string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.BetaStorageClassAnnotation: class}}}
	}
	local := corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}
	w := world{
		host: "h",
		pvcs: map[string]*corev1.PersistentVolumeClaim{
			"in-a": bound("pv-a"), "in-b": bound("pv-b"), "in-ab": bound("pv-ab"), "old": bound("pv-old"), "local": bound("pv-local"), "path": bound("pv-path"), "left": bound("pv-left"), "free": bound("pv-free"),
			"lost-volume": bound("none"), "wait": unbound("wait"), "wait-ab": unbound("wait-ab"), "at-once": unbound("at-once"), "annotated": byAnnotation("wait-ab"), "annotated-bad": byAnnotation("none"), "no-class": unbound(""), "bad-class": unbound("none"),
			"chosen": chosen("h"), "chosen-gone": chosen("left"),
			"lost":     {Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost}},
			"going":    {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &gone}},
			"half":     {Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-a"}},
			"p-ephvol": mine(bound("pv-b")),
			"p-ephloc": mine(bound("pv-local")),
			"p-taken":  bound("pv-b"),
		},
		pvs: map[string]*corev1.PersistentVolume{
			"pv-a": {Spec: corev1.PersistentVolumeSpec{NodeAffinity: zones("a")}}, "pv-b": {Spec: corev1.PersistentVolumeSpec{NodeAffinity: zones("b")}},
			"pv-ab":  {Spec: corev1.PersistentVolumeSpec{NodeAffinity: zones("b", "a")}},
			"pv-old": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"failure-domain.beta.kubernetes.io/zone": "c__d"}}}, "pv-free": {},
			"pv-local": onHost("h", local), "pv-left": onHost("left", local), "pv-path": onHost("h", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{}}),
		},
		scs: map[string]*storagev1.StorageClass{
			"wait": {VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}, "at-once": {},
			"wait-ab": {VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer), AllowedTopologies: []corev1.TopologySelectorTerm{
				{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.kubernetes.io/zone", Values: []string{"a"}}}},
				{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.kubernetes.io/zone", Values: []string{"b"}}}}}},
		},
	}
	const zone = "topology.kubernetes.io/zone In "
	for name, tt := range map[string]struct {
		claims      []string
		want        string
		wantProblem string
	}{
		"no claim is no demand":                            {want: "[]"},
		"a bound claim goes where its volume is":           {claims: []string{"in-a"}, want: "[[" + zone + "a]]"},
		"a volume without affinity goes anywhere":          {claims: []string{"free"}, want: "[]"},
		"zone labels of old volumes count":                 {claims: []string{"old"}, want: "[[" + zone + "[c d]]]"},
		"a local volume is on its host only":               {claims: []string{"local"}, want: "[[" + corev1.LabelHostname + " In h]]"},
		"a folder of a host is there only":                 {claims: []string{"path"}, want: "[[" + corev1.LabelHostname + " In h]]"},
		"a local volume whose host is gone":                {claims: []string{"left"}, want: "[]", wantProblem: `bound to a local volume on host "left", which is gone; delete the claim`},
		"an ephemeral local volume is made anew":           {claims: []string{"eph:ephloc"}, want: "[]"},
		"an unbound claim that waits goes anywhere":        {claims: []string{"wait"}, want: "[]"},
		"an unbound claim for which a node is chosen":      {claims: []string{"chosen"}, want: "[]"},
		"one whose chosen node is gone":                    {claims: []string{"chosen-gone"}, want: "[]", wantProblem: `waits for a volume on node "left", which is gone`},
		"topologies of the class are alternatives":         {claims: []string{"wait-ab"}, want: "[[" + zone + "a] [" + zone + "b]]"},
		"only alternatives that hold together are kept":    {claims: []string{"wait-ab", "in-b"}, want: "[[" + zone + "b]]"},
		"two volumes apart keep their conflict in sight":   {claims: []string{"in-a", "in-b"}, want: "[[" + zone + "a " + zone + "b]]"},
		"a claim that does not exist":                      {claims: []string{"none"}, want: "[]", wantProblem: `"none" does not exist`},
		"a claim that is being deleted":                    {claims: []string{"going"}, want: "[]", wantProblem: "being deleted"},
		"a claim that lost its volume":                     {claims: []string{"lost"}, want: "[]", wantProblem: "lost its volume"},
		"a claim whose volume does not exist":              {claims: []string{"lost-volume"}, want: "[]", wantProblem: `persistentvolume "none"`},
		"a claim that is not bound to the end":             {claims: []string{"half"}, want: "[]", wantProblem: "not bound yet"},
		"a claim whose class binds at once":                {claims: []string{"at-once"}, want: "[]", wantProblem: "WaitForFirstConsumer"},
		"a claim without a class":                          {claims: []string{"no-class"}, want: "[]", wantProblem: "storageClassName"},
		"a claim that names its class by an annotation":    {claims: []string{"annotated"}, want: "[[" + zone + "a] [" + zone + "b]]"},
		"one whose class does not exist, by an annotation": {claims: []string{"annotated-bad"}, want: "[]", wantProblem: `storage class "none"`},
		"a claim whose class does not exist":               {claims: []string{"bad-class"}, want: "[]", wantProblem: `storage class "none"`},
		"an ephemeral volume's claim bears the pod's name": {claims: []string{"eph:ephvol"}, want: "[[" + zone + "b]]"},
		"an ephemeral volume's claim is not made yet":      {claims: []string{"eph:soon"}, want: "[]", wantProblem: "not made yet"},
		"an ephemeral volume's claim is somebody else's":   {claims: []string{"eph:taken"}, want: "[]", wantProblem: "belongs to something else"},
	} {
		t.Run(name, func(t *testing.T) {
			p := basePod()
			for _, c := range tt.claims {
				v := corev1.Volume{Name: c}
				if after, ok := strings.CutPrefix(c, "eph:"); ok {
					v.Name, v.Ephemeral = after, &corev1.EphemeralVolumeSource{}
				} else {
					v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c}
				}
				p.Spec.Volumes = append(p.Spec.Volumes, v)
			}
			class := NewCompiler().Class(p, w)
			if got := fmt.Sprint(class.Volumes); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if (tt.wantProblem == "") != (class.Unplaceable == "") || !strings.Contains(class.Unplaceable, tt.wantProblem) {
				t.Errorf("problem %q, want %q", class.Unplaceable, tt.wantProblem)
			}
		})
	}
}

func TestNamespacesOfAffinity(t *testing.T) {
	w := world{ns: map[string]map[string]string{"ns": nil, "a": {"team": "x"}, "b": {"team": "x"}, "c": {"team": "y"}}}
	for name, tt := range map[string]struct {
		list     []string
		selector *metav1.LabelSelector
		want     []string
	}{
		"neither list nor selector is the pod's own": {want: []string{"ns"}},
		"a list is what it says":                     {list: []string{"z", "a"}, want: []string{"a", "z"}},
		"a selector finds by label":                  {selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}, want: []string{"a", "b"}},
		"list and selector are joined":               {list: []string{"c"}, selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}, want: []string{"a", "b", "c"}},
		"an empty selector finds all":                {selector: &metav1.LabelSelector{}, want: []string{"a", "b", "c", "ns"}},
		"a selector that finds none selects no pod":  {selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "z"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := basePod()
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: "zone", Namespaces: tt.list, NamespaceSelector: tt.selector, LabelSelector: &metav1.LabelSelector{}, MismatchLabelKeys: []string{"app"}}}}}
			class := NewCompiler().Class(p, w)
			want := []cluster.PodAffinity{{Key: "zone", Namespaces: tt.want, Selector: class.AntiAffinity[0].Selector}}
			if diff := cmp.Diff(want, class.AntiAffinity); diff != "" {
				t.Error(diff)
			}
			if got := class.AntiAffinity[0].Selector; (got == nil) != (tt.want == nil) || got != nil && fmt.Sprint(got.Terms) != "[app NotIn web]" {
				t.Errorf("selector %v", got)
			}
		})
	}
}

func TestDeviceClaimsAreRefusedWithTheWayOut(t *testing.T) {
	p := basePod()
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	if class := NewCompiler().Class(p, NoLookup{}); !strings.Contains(class.Unplaceable, "device plug-in") {
		t.Errorf("got %q", class.Unplaceable)
	}
}

func BenchmarkClassOfKnownPod(b *testing.B) {
	c := NewCompiler()
	p := basePod()
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}}}
	c.Class(p, NoLookup{})
	b.ReportAllocs()
	for b.Loop() {
		c.Class(p, NoLookup{})
	}
}

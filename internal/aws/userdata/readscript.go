package userdata

import (
	"regexp"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// bootstrapScript joins an instance of the family AL2 to its cluster. Source: awslabs/amazon-eks-ami, bootstrap.sh.
const bootstrapScript = "bootstrap.sh"

// readScript reads a shell script that calls the bootstrap script of AL2.
func readScript(text string) (*Found, string) {
	f := &Found{Family: awsv1.AMIFamilyAL2}
	if unfolded, was := unfold(text); was {
		text, f.Folded = unfolded, true
		f.dropped("line breaks", "all of the script is on the line of its interpreter, as YAML's > folds it, so nothing of it runs; it is read as if the lines had been kept, as | keeps them",
			"if instances did join the cluster, they had other user data: look at it")
	}
	commands, ok := readShell(text)
	if !ok {
		return nil, "the script is not understood"
	}
	at := -1
	for i := range commands {
		if !commands[i].calls(bootstrapScript) {
			continue
		}
		if at >= 0 {
			return nil, "the script calls " + bootstrapScript + " more than once"
		}
		at = i
	}
	switch {
	case at < 0:
		return nil, "the script does not call " + bootstrapScript + " where that can be seen"
	case commands[at].nested:
		return nil, "the script calls " + bootstrapScript + " inside of a condition, a loop or a function"
	case commands[at].joined:
		return nil, "the script joins the call of " + bootstrapScript + " with other commands"
	}
	call := commands[at]
	words := call.words
	if call.name() != bootstrapScript {
		words = words[1:] // a shell that runs it
	}
	if why := f.bootstrapCall(words[1:]); why != "" {
		return nil, why
	}
	f.Rest = text[:call.start] + text[call.end:]
	if trivial(slices.Delete(slices.Clone(commands), at, at+1)) {
		f.Rest = ""
	}
	if f.Rest != "" && slices.ContainsFunc(commands[at+1:], func(c shellCommand) bool { return c.name() != "exit" }) {
		f.dropped("order of the script", "what came after the call of "+bootstrapScript+" now runs before it, for the call that is written for the family comes last",
			"see that the commands which stay in spec.userData do not need a kubelet that runs")
	}
	return f, ""
}

func (c *shellCommand) calls(script string) bool {
	if c.name() == script {
		return true
	}
	return slices.Contains([]string{"bash", "sh"}, c.name()) && len(c.words) > 1 && strings.HasSuffix(c.words[1].text, "/"+script)
}

// trivial tells that commands do nothing but set up the script itself.
func trivial(commands []shellCommand) bool {
	return !slices.ContainsFunc(commands, func(c shellCommand) bool {
		return !slices.Contains([]string{"set", "exit", "true", ":"}, c.name())
	})
}

var foldedScript = regexp.MustCompile(`^#![ \t]*(/\S+)[ \t]+([^\n]*` + regexp.QuoteMeta(bootstrapScript) + `)`)

// unfold gives a script back its lines that YAML joined to one.
func unfold(text string) (string, bool) {
	m := foldedScript.FindStringSubmatchIndex(text)
	if m == nil {
		return text, false
	}
	return "#!" + text[m[2]:m[3]] + "\n" + strings.ReplaceAll(text[m[4]:], `\ `, "\\\n"), true
}

// bootstrapFlags are the flags of the bootstrap script that have no field, with what became of them.
var bootstrapFlags = map[string]Setting{
	"--b64-cluster-ca":           {Fate: Generated, Why: "the controller knows the cluster's authority"},
	"--apiserver-endpoint":       {Fate: Generated, Why: "the controller knows the cluster's endpoint"},
	"--ip-family":                {Fate: Generated, Why: "the controller sees which addresses the cluster has"},
	"--service-ipv6-cidr":        {Fate: Generated, Why: "the controller sees which addresses the cluster has"},
	"--container-runtime":        {Fate: Dropped, Why: "the image decides on the runtime; containerd is the only one since Kubernetes 1.24"},
	"--aws-api-retry-attempts":   {Fate: Dropped, Why: "no field; it matters only to calls that the script makes when it is not told the endpoint, and it is told"},
	"--cluster-id":               {Fate: Dropped, Why: "it is for local clusters on Outposts, which are not supported", Do: "leave these instances to what launches them now"},
	"--enable-local-outpost":     {Fate: Dropped, Why: "it is for local clusters on Outposts, which are not supported", Do: "leave these instances to what launches them now"},
	"--pause-container-account":  {Fate: Dropped, Why: "no field", Do: "set the sandbox image in the configuration of containerd, from spec.userData, if the image's own will not do"},
	"--pause-container-version":  {Fate: Dropped, Why: "no field", Do: "set the sandbox image in the configuration of containerd, from spec.userData, if the image's own will not do"},
	"--containerd-config-file":   {Fate: Dropped, Why: "no field", Do: "write the file in spec.userData, to /etc/eks/containerd/containerd-config.toml"},
	"--docker-config-json":       {Fate: Dropped, Why: "no field, and Docker is gone since Kubernetes 1.24", Do: "configure containerd in spec.userData if registries or mirrors are set here"},
	"--enable-docker-bridge":     {Fate: Dropped, Why: "no field, and Docker is gone since Kubernetes 1.24", Do: "see that nothing on the instance needs the docker0 bridge"},
	"--mount-bpf-fs":             {Fate: Dropped, Why: "no field; the script mounts it by default", Do: "mount or unmount /sys/fs/bpf in spec.userData if it was set to other than true"},
	"--docker-cgroup-driver":     {Fate: Dropped, Why: "no field, and Docker is gone since Kubernetes 1.24"},
	"--kubelet-cgroup-driver":    {Fate: Dropped, Why: "no field; the image decides"},
	"--enable-image-credentials": {Fate: Dropped, Why: "no field; the image decides"},
}

// bootstrapCall reads the arguments of the bootstrap script. It returns why they can't be read.
func (f *Found) bootstrapCall(words []shellWord) (why string) {
	useMaxPods := ""
	for i := 0; i < len(words); i++ {
		flag := words[i].text
		if !strings.HasPrefix(flag, "--") {
			if !words[i].computed && f.ClusterName == "" {
				f.ClusterName = flag
			}
			f.generated("cluster name", "the controller knows the cluster it works for")
			continue
		}
		name, value, inOne := strings.Cut(flag, "=")
		computed := words[i].computed
		if !inOne {
			if i+1 >= len(words) {
				return "the flag " + flag + " of " + bootstrapScript + " has no value"
			}
			i++
			value, computed = words[i].text, words[i].computed
		}
		if s, known := bootstrapFlags[name]; known {
			s.Name = name
			f.add(s)
			continue
		}
		if computed {
			return "the value of " + name + " is worked out at boot"
		}
		if why := f.bootstrapFlag(name, value, &useMaxPods); why != "" {
			return why
		}
	}
	f.useMaxPods(useMaxPods)
	return ""
}

func (f *Found) bootstrapFlag(name, value string, useMaxPods *string) (why string) {
	switch name {
	case "--kubelet-extra-args":
		return f.kubeletFlags(value)
	case "--use-max-pods":
		*useMaxPods = value
	case "--dns-cluster-ip":
		f.Kubelet.ClusterDNS = strings.Split(value, ",")
		f.moved(name, "spec.kubelet.clusterDNS")
	case "--local-disks":
		if value == "raid0" {
			f.InstanceStore = new(awsv1.InstanceStorePolicyRAID0)
			f.moved(name, "spec.instanceStorePolicy")
			return ""
		}
		f.dropped(name+" "+value, "only raid0 has a field", "set up the disks in spec.userData, or use spec.instanceStorePolicy: RAID0")
	default:
		return "the flag " + name + " of " + bootstrapScript + " is not known"
	}
	return ""
}

// useMaxPods reads the flag that keeps the script from computing a number of pods.
func (f *Found) useMaxPods(value string) {
	switch {
	case value == "":
	case value != "false":
		f.generated("--use-max-pods", "the number of pods follows from the instance's network interfaces where spec.kubelet.maxPods is not set")
	case f.Kubelet.MaxPods == nil:
		f.Kubelet.MaxPods = new(int32(defaultMaxPods))
		f.add(Setting{Name: "--use-max-pods false", Fate: Moved, To: "spec.kubelet.maxPods", Why: "without --max-pods the kubelet takes 110 pods, whatever the instance"})
	default:
		f.generated("--use-max-pods", "it follows from spec.kubelet.maxPods")
	}
}

// defaultMaxPods is the kubelet's own default. Source: Kubernetes, KubeletConfiguration v1beta1, maxPods.
const defaultMaxPods = 110

package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/doctor"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// besides are variables of the container that are no settings of the controller: libraries read them, in Kerf as well, or a
// release of Karpenter before 1.1 had them for its webhooks. A name that ends in * stands for all that begin so.
var besides = map[string]string{
	"AWS_*": "the AWS SDK", "KUBERNETES_*": "the Kubernetes client", "HTTP_PROXY": "the Go runtime", "HTTPS_PROXY": "the Go runtime", "NO_PROXY": "the Go runtime",
	"http_proxy": "the Go runtime", "https_proxy": "the Go runtime", "no_proxy": "the Go runtime", "SSL_CERT_*": "the Go runtime", "GO*": "the Go runtime", "TZ": "the Go runtime",
	"KUBECONFIG": "the Kubernetes client", "SYSTEM_NAMESPACE": "nothing: the pod's namespace is read", "HOME": "the AWS SDK", "PATH": "the operating system",
}

// formerly are settings of Karpenter before 1.1, which had webhooks.
var formerly = []string{"DISABLE_WEBHOOK", "WEBHOOK_PORT", "WEBHOOK_METRICS_PORT", "KARPENTER_SERVICE"}

func isBeside(name string) bool {
	for pattern := range besides {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(name, prefix) || pattern == name {
			return true
		}
	}
	return false
}

// environment is what the controller is told by variables, and by flags, which win over them, by the variable's name.
func (s *Seen) environment() map[string]string {
	if s.Deployment == nil {
		return map[string]string{}
	}
	out, _, _ := doctor.Variables(container(s.Deployment), s.Deployment.Namespace, func(_, name string) (map[string]string, error) { return s.ConfigMaps[name], nil })
	maps.Copy(out, s.flags())
	return out
}

// flags are the settings that the container's arguments give, by their variables.
func (s *Seen) flags() map[string]string {
	c := container(s.Deployment)
	return settings.Arguments(slices.Concat(c.Command, c.Args))
}

// arguments are what would stand behind kerf controller: those of the container, and of its command, whose program Kerf's image replaces.
func arguments(c *corev1.Container) []string {
	command := c.Command
	if len(command) > 0 {
		command = command[1:]
	}
	if len(command) > 0 && command[0] == "controller" {
		command = command[1:]
	}
	return slices.Concat(command, c.Args)
}

// settings has the reader of Kerf's settings read what the running controller is told.
func (e *examination) settings() {
	if e.Deployment == nil {
		return
	}
	object := "Deployment " + e.Deployment.Namespace + "/" + e.Deployment.Name
	before := len(e.findings)
	e.startsWith(object)
	e.variablesKnown(object)
	e.fromElsewhere(object)
	e.values(object)
	e.podsOwn(object)
	if len(e.findings) == before {
		e.fine(object, "every setting is one of Kerf's, with a value that Kerf accepts")
	}
	e.defaults(object)
	e.reservations(object)
}

// startsWith judges the container's arguments.
func (e *examination) startsWith(object string) {
	for _, refused := range e.NoStart {
		e.blocks(object, "the container's arguments: %s", refused).
			why("Kerf does not start with it").
			fix(fmt.Sprintf("kubectl --namespace %s edit deployment %s   # correct the container's args, and where they come from; the chart sets none", e.Deployment.Namespace, e.Deployment.Name))
	}
}

func (e *examination) variablesKnown(object string) {
	env := e.environment()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case settings.Known(name) || isBeside(name):
		case slices.Contains(formerly, name):
		default:
			e.differs(object, "the variable %s is no setting of Kerf", name).
				why("Kerf takes no notice of it; with Karpenter it may have had an effect").
				fix("# see what it is for; without a need, remove it from controller.env of the values")
		}
	}
}

// fromElsewhere are variables whose values were not read.
func (e *examination) fromElsewhere(object string) {
	c := container(e.Deployment)
	for _, v := range c.Env {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			e.unknown(object, "the variable %s is from the Secret %s, which was not read", v.Name, v.ValueFrom.SecretKeyRef.Name).
				why("Kerf reads it as well; whether it accepts the value is not known")
		}
	}
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil {
			e.unknown(object, "variables are from the Secret %s, which was not read", from.SecretRef.Name).
				why("Kerf reads them as well; whether it accepts their values is not known")
		}
	}
}

// values reads the settings twice: with Kerf's defaults, where a malformed value is refused, and with Karpenter's, where it is
// a warning.
func (e *examination) values(object string) {
	_, warnings, err := e.load(settings.KerfDefaults)
	_, tolerant, kept := e.load(settings.KarpenterDefaults)
	for _, refused := range settings.Refusals(err) {
		if !slices.ContainsFunc(settings.Refusals(kept), func(r *settings.Refusal) bool { return r.Error() == refused.Error() }) {
			e.differs(object, "%s", refused).
				why("with settings.kerf.compat=karpenter its default holds and a warning is logged; otherwise Kerf does not start").
				fix(e.corrections(refused.Variables)...)
			continue
		}
		e.blocks(object, "%s", refused).why("Kerf does not start with it").fix(e.corrections(refused.Variables)...)
	}
	for _, w := range tolerant {
		if !slices.Contains(warnings, w) && err != nil {
			continue // said above
		}
		e.differs(object, "%s", w)
	}
}

// corrections are the commands that set variables anew which are refused together, with their defaults: one where that of one of them is
// enough.
func (e *examination) corrections(refused []string) (out []string) {
	enough := slices.IndexFunc(refused, func(variable string) bool {
		_, _, err := e.load(settings.KerfDefaults, variable)
		return !slices.ContainsFunc(settings.Refusals(err), func(r *settings.Refusal) bool { return slices.Equal(r.Variables, refused) })
	})
	if enough >= 0 {
		refused = refused[enough : enough+1]
	}
	for _, variable := range refused {
		out = append(out, e.correction(variable))
	}
	return out
}

// correction is the command that sets a variable anew, with its default. Whoever applies the Deployment has to be told, as it would put the
// old one back.
func (e *examination) correction(variable string) string {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	settings.AddFlags(fs)
	flag := fs.Lookup(strings.ToLower(strings.ReplaceAll(variable, "_", "-")))
	value := cmp.Or(flag.DefValue, "VALUE")
	path := valuePath(variable)
	const other = "   # or the value that you mean"
	r, known := e.Owner.current()
	d := e.Deployment
	_, isFlag := e.flags()[variable]
	switch {
	case isFlag:
		return fmt.Sprintf("kubectl --namespace %s edit deployment %s   # correct --%s in the container's args, and where they come from", d.Namespace, d.Name, flag.Name)
	case e.Owner.Manager == Helm && known && path != "":
		chart := "oci://public.ecr.aws/karpenter/" + r.Chart + " --version " + r.Version
		if r.Chart == kerfChart {
			chart = "charts/kerf"
		}
		return fmt.Sprintf("helm upgrade %s %s --namespace %s --reuse-values --set %s", e.Owner.Release, chart, e.Owner.ReleaseNamespace, shellescape.Quote(path+"="+value)) + other
	case e.Owner.Manager == FluxHelmRelease:
		return fmt.Sprintf("kubectl --namespace %s edit helmrelease %s   # %s, and in Git", e.Owner.Namespace, e.Owner.Name, orWord(path, variable))
	case e.Owner.Manager == ArgoCD:
		return fmt.Sprintf("kubectl --namespace %s edit application %s   # %s, and in Git", orWord(e.Owner.Namespace, "argocd"), e.Owner.Name, orWord(path, variable))
	}
	return fmt.Sprintf("kubectl --namespace %s set env deployment/%s %s", d.Namespace, d.Name, shellescape.Quote(variable+"="+value)) + other
}

// valuePath is the value of the chart that a variable is set by, empty where there is none.
func valuePath(variable string) string {
	switch variable {
	case "LOG_LEVEL":
		return "logLevel"
	case "FEATURE_GATES":
		return ""
	}
	t := reflect.TypeFor[manifests.Settings]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); strings.EqualFold(strings.ReplaceAll(variable, "_", ""), name) {
			return "settings." + name
		}
	}
	return ""
}

// load reads the settings as the controller would, were it not told some of them.
func (s *Seen) load(compat string, without ...string) (settings.Settings, []settings.Warning, error) {
	env := s.environment()
	for _, variable := range without {
		delete(env, variable)
	}
	return settings.Load(pflag.NewFlagSet("", pflag.ContinueOnError), func(name string) (string, bool) {
		switch {
		case name == "KERF_COMPAT":
			return compat, true
		case name == "CLUSTER_NAME" && s.ClusterName != "":
			return s.ClusterName, true
		}
		v, ok := env[name]
		return v, ok
	})
}

// podsOwn are parts of the pod that no value of the chart may stand for: somebody patched them in.
func (e *examination) podsOwn(object string) {
	spec := &e.Deployment.Spec.Template.Spec
	var volumes, others []string
	for _, v := range spec.Volumes {
		volumes = append(volumes, v.Name)
	}
	for i := range spec.Containers {
		if c := &spec.Containers[i]; c.Name != container(e.Deployment).Name {
			others = append(others, c.Name)
		}
	}
	if len(volumes) > 0 {
		e.fine(object, "it has the volumes %s; they are kept where they stand in extraVolumes of the values", few(volumes))
	}
	if len(others) > 0 {
		e.fine(object, "it has more containers: %s; they are kept where they stand in controller.sidecarContainer of the values", few(others))
	}
}

// reservedCapacity is the value of the feature gate by which nodes are launched into capacity reservations.
const reservedCapacity = "settings.featureGates.reservedCapacity"

// reservedCapacityOff reports whether a Karpenter runs without the feature gate that is on by Kerf's default: releases before 1.3
// have none, and it was off by default before 1.6.
func (s *Seen) reservedCapacityOff() bool {
	if s.Deployment == nil || s.isKerf() {
		return false
	}
	running, err := minor(s.version())
	off := err == nil && running.LessThan(version.MustParseGeneric("1.6"))
	gates, _ := settings.ParseGates(fmt.Sprintf("ReservedCapacity=%t,%s", !off, s.environment()["FEATURE_GATES"])) // values says what is malformed
	return !gates.ReservedCapacity
}

// reservations says what would change with a feature gate that the swap would switch on.
func (e *examination) reservations(object string) {
	if !e.reservedCapacityOff() {
		return
	}
	e.differs(object, "the feature gate ReservedCapacity is off here, and on by Kerf's default").
		why("with it, instances take no open capacity reservation unless their class selects it, and the reservation is paid for unused").
		fix("kerf migrate to-kerf   # with " + reservedCapacity + "=false")
}

// defaults are settings that nobody set and whose defaults differ.
func (e *examination) defaults(object string) {
	env := e.environment()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	settings.AddFlags(fs)
	var lines []string
	fs.VisitAll(func(f *pflag.Flag) {
		if other, ok := settings.KarpenterDefault(f.Name); ok && env[settings.EnvName(f.Name)] == "" {
			lines = append(lines, fmt.Sprintf("--%s: %s, with compat=karpenter %s", f.Name, f.DefValue, other))
		}
	})
	if len(lines) > 0 && env["KERF_COMPAT"] != settings.KarpenterDefaults {
		e.differs(object, "%d defaults of Kerf differ from what Karpenter does", len(lines)).with(lines...).
			why("settings.kerf.compat=karpenter, which kerf migrate to-kerf sets, keeps Karpenter's").
			fix("kerf migrate to-kerf   # with --compat kerf for Kerf's")
	}
}

// Settings are those of the running controller, as Kerf reads them with Karpenter's defaults, and the cluster's name where it
// was given otherwise.
//
// Errors: those of settings.Load.
func (s *Seen) Settings() (settings.Settings, error) {
	out, _, err := s.load(settings.KarpenterDefaults)
	return out, err
}

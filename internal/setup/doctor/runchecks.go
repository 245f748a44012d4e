package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// controllerRunning judges Deployments. A controller elsewhere, such as on an instance of its own, can't be seen.
func controllerRunning(in *Input) Result {
	list := in.controllers()
	stopped := slices.DeleteFunc(slices.Clone(in.Kube.Stopped), func(c Controller) bool { return c.ClusterName != "" && c.ClusterName != in.ClusterName })
	switch {
	case len(list) == 0 && len(stopped) > 0:
		var names []string
		for _, c := range stopped {
			names = append(names, c.String())
		}
		return failed(command("kubectl", "-n", stopped[0].Namespace, "scale", "deployment/"+stopped[0].Name, "--replicas=2"),
			"no controller runs: its Deployment is scaled to zero").with(names...)
	case len(list) == 0:
		for _, g := range in.Kube.Gaps {
			if strings.HasPrefix(g, "deployments") {
				return unknown("Deployments could not be read: %s", g)
			}
		}
		return unknown("no Deployment of a controller for this cluster was found; one that runs elsewhere can't be seen")
	}
	var ready, short, none []string
	var down Controller
	for _, c := range list {
		text := fmt.Sprintf("%s: %d of %s ready", c, c.Ready, count(c.Wanted, "pod"))
		switch {
		case c.Ready >= c.Wanted:
			ready = append(ready, text)
		case c.Ready > 0:
			short, down = append(append(short, text), c.Troubles...), c
		default:
			none, down = append(append(none, text), c.Troubles...), c
		}
	}
	// The log of a Deployment is that of any of its pods, and rather of one that runs than of the one that can't start.
	of := "deployment/" + down.Name
	if len(down.Ending) > 0 {
		of = "pod/" + down.Ending[0]
	}
	says := "see why; the last lines of the log say more:"
	if len(down.Ending) > 0 {
		says = "see why; the last line of the log says why it ended:"
	}
	fix := lines(note(says),
		command("kubectl", "-n", down.Namespace, "describe", of), command("kubectl", "-n", down.Namespace, "logs", of, "--tail=5"))
	if missing := in.Kube.Missing; len(missing) > 0 && len(none)+len(short) > 0 {
		fix = lines(note("the CRDs come first:"), "kerf manifests --crds-only | kubectl apply --server-side --force-conflicts -f -")
		return failed(fix, "the controller does not run without its CRDs, and the cluster lacks those of %s", strings.Join(missing, ", ")).with(slices.Concat(none, short, ready)...)
	}
	switch {
	case len(none) > 0 && len(ready)+len(short) == 0:
		return failed(fix, "no controller runs: nodes neither come nor go, and nobody reads the queue").with(none...)
	case len(down.Ending) > 0:
		return failed(fix, "pods of the controller end as soon as they start: what they were given last does not run").with(slices.Concat(none, short, ready)...)
	case len(none)+len(short) > 0:
		return warning(fix, "not all pods of controllers are ready").with(slices.Concat(none, short, ready)...)
	}
	return ok("the controller runs").with(ready...)
}

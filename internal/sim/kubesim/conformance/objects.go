package conformance

import "strings"

func makePod(name string) step {
	return step{says: "make the pod " + name, method: "POST", path: pods, body: strings.ReplaceAll(pod, "NAME", name), silent: true, keep: strings.ReplaceAll(name, "-", "")}
}

func bind(name, node string) string {
	return `{"metadata":{"name":"` + name + `"},"target":{"kind":"Node","name":"` + node + `"}}`
}

func podLife() []step {
	return []step{
		{says: "a pod gets its defaults", method: "POST", path: pods, body: strings.ReplaceAll(pod, "NAME", "p1"), keep: "p1", show: []string{
			"spec.restartPolicy", "spec.dnsPolicy", "spec.terminationGracePeriodSeconds", "spec.tolerations", "spec.priority", "spec.preemptionPolicy", "spec.enableServiceLinks",
			"spec.containers.0.resources", "status.phase", "status.qosClass", "spec.nodeName",
		}},
		{says: "a limit alone is a request", method: "POST", path: pods, body: `{"metadata":{"generateName":"gen-"},"spec":{"schedulerName":"nobody","containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}`, keep: "gen", show: []string{"metadata.generateName", "spec.containers.0.resources", "status.qosClass"}},
		{says: "a pod that nobody runs goes at once", method: "DELETE", path: pods + "/${gen.metadata.name}", silent: true},
		{says: "a limit of the whole pod alone is a request", method: "POST", path: pods, body: `{"metadata":{"generateName":"gen-"},"spec":{"schedulerName":"nobody","resources":{"limits":{"cpu":"2","memory":"4Gi"}},"containers":[{"name":"c","image":"i"}]}}`, keep: "gen", show: []string{"spec.resources", "spec.containers.0.resources"}},
		{says: "which goes as well", method: "DELETE", path: pods + "/${gen.metadata.name}", silent: true},
		{says: "what its containers request comes first", method: "POST", path: pods, body: `{"metadata":{"generateName":"gen-"},"spec":{"schedulerName":"nobody","resources":{"limits":{"cpu":"2"}},"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1","memory":"1Gi"}}},{"name":"d","image":"i","resources":{"limits":{"cpu":"500m"}}}]}}`, keep: "gen", show: []string{"spec.resources"}},
		{says: "and this one", method: "DELETE", path: pods + "/${gen.metadata.name}", silent: true},
		{says: "then it is not there", method: "GET", path: pods + "/p0"},
		{says: "a binding", method: "POST", path: pods + "/p1/binding", body: bind("p1", "n1"), show: []string{"kind", "status"}},
		{says: "a bound pod", method: "GET", path: pods + "/p1", show: []string{"spec.nodeName", "status.conditions.0.type", "status.conditions.0.status"}},
		{says: "a second binding", method: "POST", path: pods + "/p1/binding", body: bind("p1", "n2")},
		{says: "a binding of what is not there", method: "POST", path: pods + "/zz/binding", body: bind("zz", "n2")},
		{says: "pods by their node", method: "GET", path: pods + query("fieldSelector", "spec.nodeName=n1"), show: []string{"items"}},
		{says: "pods by their phase", method: "GET", path: pods + query("fieldSelector", "status.phase=Running"), show: []string{"items"}},
		{says: "the status of a pod", method: "PATCH", kind: strategic, path: pods + "/p1/status", body: `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, show: []string{"status.phase", "status.conditions.0.type", "status.conditions.1.type"}},
		{says: "the status of a pod is not changed with the pod", method: "PATCH", kind: merge, path: pods + "/p1", body: `{"status":{"phase":"Failed"},"metadata":{"annotations":{"a":"b"}}}`, show: []string{"status.phase", "metadata.annotations.a"}},
		{says: "a pod that runs goes with its grace", method: "DELETE", path: pods + "/p1", show: []string{"metadata.deletionGracePeriodSeconds", "status.phase"}},
		{says: "a longer grace changes nothing", method: "DELETE", path: pods + "/p1" + query("gracePeriodSeconds", "60"), show: []string{"metadata.deletionGracePeriodSeconds"}},
		{says: "a shorter grace does", method: "DELETE", path: pods + "/p1" + query("gracePeriodSeconds", "10"), show: []string{"metadata.deletionGracePeriodSeconds"}},
		{says: "no grace ends it", method: "DELETE", path: pods + "/p1" + query("gracePeriodSeconds", "0"), show: []string{"kind"}},
		{says: "the pod is gone", method: "GET", path: pods + "/p1"},
	}
}

func evictions() []step {
	evict := func(says, name string) step {
		return step{says: says, method: "POST", path: pods + "/" + name + "/eviction", body: `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"` + name + `"}}`, show: []string{"kind", "status"}}
	}
	running := func(name, ready string) []step {
		return []step{
			makePod(name),
			{says: "bind " + name, method: "POST", path: pods + "/" + name + "/binding", body: bind(name, "n1"), silent: true},
			{says: "run " + name, method: "PATCH", kind: strategic, path: pods + "/" + name + "/status", body: `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"` + ready + `"}]}}`, silent: true},
		}
	}
	out := append(running("e1", "True"), evict("an eviction without a budget", "e1"))
	out = append(out, step{says: "an evicted pod goes with its grace", method: "GET", path: pods + "/e1", show: []string{"metadata.deletionGracePeriodSeconds"}},
		evict("an eviction of a pod that goes already", "e1"), evict("an eviction of what is not there", "zz"))
	out = append(out, running("e2", "False")...)
	return append(out,
		step{says: "a budget", method: "POST", path: budgets, body: `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"e2"}}}}`, show: []string{"spec.minAvailable", "metadata.generation"}},
		step{says: "what the budget counts is known", method: "PATCH", kind: merge, path: budgets + "/b/status", body: `{"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":1,"expectedPods":1}}`, silent: true},
		step{says: "the budget's status", method: "GET", path: budgets + "/b", until: "status.observedGeneration=1", show: []string{"status.disruptionsAllowed", "status.desiredHealthy"}},
		evict("an eviction that the budget does not allow", "e2"),
		step{says: "a second budget", method: "POST", path: budgets, body: `{"metadata":{"name":"c"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"e2"}}}}`, silent: true},
		evict("an eviction of a pod with two budgets", "e2"),
		step{says: "end e2", method: "DELETE", path: pods + "/e2" + query("gracePeriodSeconds", "0"), silent: true},
	)
}

const pool = `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"NAME"},"spec":{"template":{"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"},"requirements":[{"key":"kubernetes.io/os","operator":"In","values":["linux"]}]}}},"status":{"resources":{"cpu":"1"}}}`

func customObjects() []step {
	return []step{
		{says: "a custom object gets its defaults, and no status", method: "POST", path: pools, body: strings.ReplaceAll(pool, "NAME", "one"), show: []string{"spec.disruption", "spec.template.spec.expireAfter", "status", "metadata.generation"}, keep: "one"},
		{says: "a custom object with an unknown field", method: "POST", path: pools + query("fieldValidation", "Ignore"), body: strings.Replace(strings.ReplaceAll(pool, "NAME", "two"), `"spec":{`, `"spec":{"unknown":1,`, 1), show: []string{"spec.unknown"}},
		{says: "a custom object without what is required", method: "POST", path: pools, body: `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"bad"},"spec":{"template":{"spec":{"requirements":[]}}}}`, silent: false},
		{says: "a custom object of a wrong type", method: "POST", path: pools, body: strings.Replace(strings.ReplaceAll(pool, "NAME", "bad"), `"requirements":[`, `"expireAfter":5,"requirements":[`, 1)},
		{says: "a number that is too small", method: "POST", path: pools, body: strings.Replace(strings.ReplaceAll(pool, "NAME", "bad"), `"spec":{`, `"spec":{"weight":0,`, 1)},
		{says: "a value that is not one of those allowed", method: "POST", path: pools, body: strings.Replace(strings.ReplaceAll(pool, "NAME", "bad"), `"spec":{`, `"spec":{"disruption":{"consolidationPolicy":"Never"},`, 1)},
		{says: "a text of the wrong form", method: "POST", path: pools, body: strings.Replace(strings.ReplaceAll(pool, "NAME", "bad"), `"spec":{`, `"spec":{"disruption":{"consolidateAfter":"soon"},`, 1)},
		{says: "the status of a custom object, with what else is sent left out", method: "PATCH", kind: merge, path: pools + "/one/status", body: `{"metadata":{"labels":{"a":"b"}},"spec":{"weight":5},"status":{"resources":{"cpu":"2"}}}`, show: []string{"status.resources", "spec.weight", "metadata.labels", "metadata.generation"}},
		{says: "a custom object's spec, with its status left out", method: "PATCH", kind: merge, path: pools + "/one", body: `{"metadata":{"labels":{"a":"b"}},"spec":{"weight":5},"status":{"resources":{"cpu":"3"}}}`, show: []string{"status.resources", "spec.weight", "metadata.labels", "metadata.generation"}},
		{says: "only metadata", method: "PATCH", kind: merge, path: pools + "/one", body: `{"metadata":{"labels":{"a":"c"}}}`, show: []string{"metadata.generation"}},
		{says: "an update of a custom object without a version", method: "PUT", path: pools + "/one", body: strings.ReplaceAll(pool, "NAME", "one")},
		{says: "a strategic patch of a custom object", method: "PATCH", kind: strategic, path: pools + "/one", body: `{}`, show: []string{"reason"}},
		{says: "a custom object's deletion", method: "DELETE", path: pools + "/one", show: []string{"kind", "status", "details.name", "details.group", "details.kind"}},
	}
}

func nodeLife() []step {
	return []step{
		{says: "a node waits to be looked at", method: "POST", path: nodes, body: `{"metadata":{"name":"n9"},"spec":{"providerID":"aws:///z/i-1"},"status":{"allocatable":{"cpu":"4","memory":"1024Mi"},"capacity":{"cpu":"4"}}}`, show: []string{"spec.taints", "status.allocatable", "spec.providerID"}},
		{says: "a provider ID stays", method: "PATCH", kind: merge, path: nodes + "/n9", body: `{"spec":{"providerID":"aws:///z/i-2"}}`},
		{says: "a node's deletion", method: "DELETE", path: nodes + "/n9", show: []string{"kind", "status", "details.name", "details.kind"}},
		{says: "a replica set wants one pod if it does not say", method: "POST", path: sets, body: `{"metadata":{"name":"rs"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}},"status":{"replicas":5}}`, show: []string{"spec.replicas", "metadata.generation", "status.replicas"}},
		{says: "its change is counted", method: "PATCH", kind: merge, path: sets + "/rs", body: `{"spec":{"minReadySeconds":1}}`, show: []string{"metadata.generation"}},
	}
}

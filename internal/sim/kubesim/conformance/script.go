package conformance

import "slices"

const (
	merge     = "application/merge-patch+json"
	strategic = "application/strategic-merge-patch+json"
	jsonOps   = "application/json-patch+json"

	pods    = "/api/v1/namespaces/default/pods"
	maps    = "/api/v1/namespaces/default/configmaps"
	nodes   = "/api/v1/nodes"
	budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	claims  = "/apis/karpenter.sh/v1/nodeclaims"
	pools   = "/apis/karpenter.sh/v1/nodepools"
	sets    = "/apis/apps/v1/namespaces/default/replicasets"
)

// script is what is played. Pods have a scheduler that is nobody and nodes that no kubelet runs, so that no controller of
// a real cluster acts on them.
func script() []step {
	return slices.Concat(plainObjects(), updates(), patches(), deletions(), selections(), watches(), podLife(), evictions(), customObjects(), nodeLife(), reviews())
}

func plainObjects() []step {
	return []step{
		{says: "an object is created", method: "POST", path: maps, body: `{"metadata":{"name":"a","labels":{"of":"script"}},"data":{"k":"v"},"unknown":1}`, show: []string{"kind", "apiVersion", "metadata.name", "metadata.namespace", "data", "unknown", "metadata.generation"}, keep: "a"},
		{says: "an object that is there is created again", method: "POST", path: maps, body: `{"metadata":{"name":"a"}}`},
		{says: "an object without a name", method: "POST", path: maps, body: `{"metadata":{}}`},
		{says: "an object with a bad name", method: "POST", path: maps, body: `{"metadata":{"name":"Big"}}`},
		{says: "an object with a bad label", method: "POST", path: maps, body: `{"metadata":{"name":"b","labels":{"k":"a b"}}}`},
		{says: "an object in a namespace that is not there", method: "POST", path: "/api/v1/namespaces/nowhere/configmaps", body: `{"metadata":{"name":"b"}}`},
		{says: "an object of another namespace than the path's", method: "POST", path: maps, body: `{"metadata":{"name":"b","namespace":"other"}}`},
		{says: "an object with a resource version", method: "POST", path: maps, body: `{"metadata":{"name":"b","resourceVersion":"1"}}`},
		{says: "an object that is only tried", method: "POST", path: maps + query("dryRun", "All"), body: `{"metadata":{"name":"tried"}}`, show: []string{"metadata.name"}},
		{says: "what was only tried is not there", method: "GET", path: maps + "/tried"},
		{says: "a resource that is not served", method: "GET", path: "/apis/example.com/v1/things"},
		{says: "an object is read", method: "GET", path: maps + "/a", show: []string{"data"}},
	}
}

// reviews are questions about users, and tokens of a ServiceAccount. Whether somebody may do something is left out: the simulation
// lets everybody do everything.
func reviews() []step {
	const (
		accounts = "/api/v1/namespaces/default/serviceaccounts"
		tokens   = "/apis/authentication.k8s.io/v1/tokenreviews"
		rights   = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	)
	return []step{
		{says: "whose a token is that nobody has", method: "POST", path: tokens, body: `{"spec":{"token":"made-up"}}`, show: []string{"kind", "status.authenticated", "status.user"}},
		{says: "make a service account", method: "POST", path: accounts, body: `{"metadata":{"name":"viewer","labels":{"of":"script"}}}`, silent: true},
		{says: "a token of it", method: "POST", path: accounts + "/viewer/token", body: `{"spec":{"expirationSeconds":600}}`, show: []string{"kind", "metadata.name", "metadata.namespace", "spec.expirationSeconds"}, keep: "token"},
		{says: "whose that is", method: "POST", path: tokens, body: `{"spec":{"token":"${token.status.token}"}}`, show: []string{"kind", "status.authenticated", "status.user.username", "status.user.groups", "status.error"}},
		{says: "a token of an account that is not there", method: "POST", path: accounts + "/nobody/token", body: `{"spec":{}}`},
		{says: "what somebody may do, without saying what", method: "POST", path: rights, body: `{"spec":{"user":"somebody"}}`},
		{says: "whether a group of masters may get a path", method: "POST", path: rights, body: `{"spec":{"user":"somebody","groups":["system:masters"],"nonResourceAttributes":{"path":"/debug/decisions","verb":"get"}}}`, show: []string{"kind", "status.allowed"}},
		{says: "remove the service account", method: "DELETE", path: accounts + "/viewer", silent: true},
	}
}

func updates() []step {
	return []step{
		{says: "an update with the present version", method: "PUT", path: maps + "/a", body: `{"metadata":{"name":"a","resourceVersion":"${a.metadata.resourceVersion}","labels":{"of":"script"}},"data":{"k":"w"}}`, show: []string{"data"}, keep: "b"},
		{says: "an update with an old version", method: "PUT", path: maps + "/a", body: `{"metadata":{"name":"a","resourceVersion":"${a.metadata.resourceVersion}"},"data":{"k":"x"}}`},
		{says: "an update with another UID", method: "PUT", path: maps + "/a", body: `{"metadata":{"name":"a","uid":"11111111-2222-4333-8444-555555555555"},"data":{"k":"x"}}`},
		{says: "an update without a version", method: "PUT", path: maps + "/a", body: `{"metadata":{"name":"a","labels":{"of":"script"}},"data":{"k":"y"}}`, show: []string{"data"}, keep: "c"},
		{says: "an update under another name", method: "PUT", path: maps + "/a", body: `{"metadata":{"name":"z"}}`},
		{says: "an update of what is not there", method: "PUT", path: maps + "/zz", body: `{"metadata":{"name":"zz","resourceVersion":"1"}}`},
	}
}

func patches() []step {
	return []step{
		{says: "a merge patch", method: "PATCH", kind: merge, path: maps + "/a", body: `{"data":{"k":null,"l":"m"}}`, show: []string{"data"}},
		{says: "a merge patch with an old version", method: "PATCH", kind: merge, path: maps + "/a", body: `{"metadata":{"resourceVersion":"${a.metadata.resourceVersion}"},"data":{"l":"n"}}`},
		{says: "a JSON patch", method: "PATCH", kind: jsonOps, path: maps + "/a", body: `[{"op":"test","path":"/data/l","value":"m"},{"op":"add","path":"/data/n","value":"o"}]`, show: []string{"data"}},
		{says: "a strategic patch adds a finalizer", method: "PATCH", kind: strategic, path: maps + "/a", body: `{"metadata":{"finalizers":["example.com/hold"]}}`, show: []string{"metadata.finalizers"}},
		{says: "a strategic patch adds another finalizer", method: "PATCH", kind: strategic, path: maps + "/a", body: `{"metadata":{"finalizers":["example.com/two"]}}`, show: []string{"metadata.finalizers"}},
		{says: "a patch of what is not there", method: "PATCH", kind: merge, path: maps + "/zz", body: `{}`},
	}
}

func deletions() []step {
	return []step{
		{says: "a deletion with another UID", method: "DELETE", path: maps + "/a", body: `{"preconditions":{"uid":"11111111-2222-4333-8444-555555555555"}}`},
		{says: "a deletion with finalizers", method: "DELETE", path: maps + "/a", show: []string{"kind", "metadata.finalizers", "metadata.deletionGracePeriodSeconds"}},
		{says: "a new finalizer comes too late", method: "PATCH", kind: merge, path: maps + "/a", body: `{"metadata":{"finalizers":["example.com/hold","example.com/late"]}}`},
		{says: "one finalizer goes", method: "PATCH", kind: merge, path: maps + "/a", body: `{"metadata":{"finalizers":["example.com/hold"]}}`, show: []string{"metadata.finalizers"}},
		{says: "a deletion can't be taken back", method: "PATCH", kind: merge, path: maps + "/a", body: `{"metadata":{"deletionTimestamp":null},"data":{"z":"z"}}`, show: []string{"metadata.finalizers", "data.z"}},
		{says: "the last finalizer goes", method: "PATCH", kind: merge, path: maps + "/a", body: `{"metadata":{"finalizers":null}}`, show: []string{"metadata.name"}},
		{says: "then it is gone", method: "GET", path: maps + "/a"},
		{says: "a deletion of what is not there", method: "DELETE", path: maps + "/a"},
	}
}

func selections() []step {
	make := func(name, label string) step {
		return step{says: "make " + name, method: "POST", path: maps, body: `{"metadata":{"name":"` + name + `","labels":{"of":"selections","is":"` + label + `"}}}`, silent: true}
	}
	of := []string{"labelSelector", "of=selections"}
	return []step{
		make("s1", "one"), make("s2", "two"), make("s3", "two"),
		{says: "a list by a label", method: "GET", path: maps + query(of...), show: []string{"kind", "items"}},
		{says: "a list by a set of labels", method: "GET", path: maps + query("labelSelector", "of=selections,is in (two,three)"), show: []string{"items"}},
		{says: "a list by a label that is not there", method: "GET", path: maps + query("labelSelector", "of=selections,!is"), show: []string{"items"}},
		{says: "a list by name", method: "GET", path: maps + query("fieldSelector", "metadata.name=s2"), show: []string{"items"}},
		{says: "a list by a field that can't be selected by", method: "GET", path: maps + query("fieldSelector", "data.k=v")},
		{says: "a selector that is none", method: "GET", path: maps + query("labelSelector", "a b")},
		{says: "the first page of a list", method: "GET", path: maps + query("labelSelector", "of=selections", "limit", "2"), show: []string{"items"}, keep: "page"},
		{says: "the next page", method: "GET", path: maps + query("labelSelector", "of=selections", "limit", "2", "continue", "${page.metadata.continue}"), show: []string{"items"}},
		{says: "a deletion of many", method: "DELETE", path: maps + query("labelSelector", "of=selections,is=two"), silent: true},
		{says: "only the others are left", method: "GET", path: maps + query(of...), show: []string{"items"}, keep: "left"},
	}
}

func watches() []step {
	of := "of=watches"
	make := func(name, body string) step {
		return step{says: "make " + name, method: "POST", path: maps, body: `{"metadata":{"name":"` + name + `","labels":{"of":"watches"` + body + `}}}`, silent: true}
	}
	patch := func(name, body string) step {
		return step{says: "change " + name, method: "PATCH", kind: merge, path: maps + "/" + name, body: body, silent: true}
	}
	return []step{
		{says: "the version before", method: "GET", path: maps, silent: true, keep: "before"},
		make("w1", ""), make("w2", ""),
		patch("w1", `{"data":{"k":"v"}}`), patch("w1", `{"data":{"k":"v"}}`),
		patch("w2", `{"metadata":{"labels":{"of":"others"}}}`), patch("w2", `{"metadata":{"labels":{"of":"watches"}}}`),
		{says: "end w1", method: "DELETE", path: maps + "/w1", silent: true},
		{says: "a watch from a version on tells what came after it, and of what is selected no more", watch: true, method: "GET", path: maps + query("labelSelector", of, "resourceVersion", "${before.metadata.resourceVersion}"), show: []string{"data", "metadata.labels.of"}},
		{says: "a watch from nowhere tells first what is there", watch: true, method: "GET", path: maps + query("labelSelector", of)},
		{says: "a watch from any version tells first what is there", watch: true, method: "GET", path: maps + query("labelSelector", of, "resourceVersion", "0")},
		{says: "a watch that asks for the list ends it with a bookmark", watch: true, method: "GET", path: maps + query("labelSelector", of, "sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan", "allowWatchBookmarks", "true"), show: []string{"metadata.annotations"}},
	}
}

const pod = `{"metadata":{"name":"NAME","labels":{"app":"NAME"},"finalizers":[]},"spec":{"schedulerName":"nobody","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1500m","memory":"1024Mi"},"limits":{"memory":"1Gi"}}}]}}`

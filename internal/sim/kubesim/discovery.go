package kubesim

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// Version is what the server calls itself.
const Version = "v1.36.3"

// discover answers what is not about objects. It returns false for all else.
func (s *Server) discover(w http.ResponseWriter, r *http.Request) bool {
	path := strings.Trim(r.URL.Path, "/")
	switch path {
	case "healthz", "readyz", "livez":
		_, _ = w.Write([]byte("ok")) // the caller has gone
	case "version":
		writeJSON(w, http.StatusOK, version.Info{Major: "1", Minor: "36", GitVersion: Version, Platform: "linux/amd64"})
	case "api":
		writeJSON(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case "apis":
		writeJSON(w, http.StatusOK, s.groupList())
	default:
		group, v, _ := strings.Cut(strings.TrimPrefix(path, "apis/"), "/")
		if path == "api/v1" {
			group, v = "", "v1"
		}
		n := slices.IndexFunc(s.groups, func(g *groupVersion) bool { return g.group == group && g.version == v })
		if n < 0 {
			return false
		}
		writeJSON(w, http.StatusOK, s.groups[n].list())
	}
	return true
}

func (s *Server) groupList() metav1.APIGroupList {
	out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, g := range s.groups {
		if g.group == "" {
			continue
		}
		one := metav1.GroupVersionForDiscovery{GroupVersion: g.group + "/" + g.version, Version: g.version}
		if n := slices.IndexFunc(out.Groups, func(have metav1.APIGroup) bool { return have.Name == g.group }); n >= 0 {
			out.Groups[n].Versions = append(out.Groups[n].Versions, one)
			continue
		}
		out.Groups = append(out.Groups, metav1.APIGroup{Name: g.group, Versions: []metav1.GroupVersionForDiscovery{one}, PreferredVersion: one})
	}
	return out
}

func (g *groupVersion) list() metav1.APIResourceList {
	out := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(g.group+"/"+g.version, "/")}
	for _, r := range g.resources {
		out.APIResources = append(out.APIResources, metav1.APIResource{
			Name: r.plural, SingularName: strings.ToLower(r.kind), Kind: r.kind, Namespaced: r.namespaced,
			Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		})
		for _, sub := range r.subs() {
			one := metav1.APIResource{Name: r.plural + "/" + sub, Kind: r.kind, Namespaced: r.namespaced, Verbs: metav1.Verbs{"get", "patch", "update"}}
			switch sub {
			case "binding":
				one.Kind, one.Verbs = "Binding", metav1.Verbs{"create"}
			case "eviction":
				one.Group, one.Version, one.Kind, one.Verbs = "policy", "v1", "Eviction", metav1.Verbs{"create"}
			}
			out.APIResources = append(out.APIResources, one)
		}
	}
	return out
}

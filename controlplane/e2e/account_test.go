package e2e

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// account is a ServiceAccount bound to a role; an empty role is none.
func (e *env) account(name, yaml, role string) credentials {
	e.Helper()
	yaml += fmt.Sprintf("\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, namespace: kube-system}\n", name)
	if role != "" {
		yaml += fmt.Sprintf(`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[2]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: kube-system}]
`, name, role)
	}
	e.apply(yaml)
	account := &corev1.ServiceAccount{ObjectMeta: objectMeta(name)}
	account.Namespace = "kube-system"
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	if err := e.client.SubResource("token").Create(e.Context(), account, token); err != nil {
		e.Fatal(err)
	}
	return credentials{"KUBECONFIG=" + e.kubeconfig(name+".kubeconfig", func(u *clientcmdapi.AuthInfo) { *u = clientcmdapi.AuthInfo{Token: token.Status.Token} })}
}

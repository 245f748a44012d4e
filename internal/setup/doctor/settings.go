package doctor

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ControllerSettings finds the controller in the cluster and returns what it is told: a setting by the name of its environment
// variable, whether it is given so or as a flag. from is its Deployment, empty when there is none.
//
// Errors: the Deployments can't be listed.
func ControllerSettings(ctx context.Context, reader client.Reader) (lookup func(env string) (string, bool), from string, err error) {
	nothing := func(string) (string, bool) { return "", false }
	var list appsv1.DeploymentList
	if err := reader.List(ctx, &list); err != nil {
		return nothing, "", fmt.Errorf("listing deployments, to find the controller's settings: %w", err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		if lookup, ok := SettingsOf(d); ok {
			return lookup, d.Namespace + "/" + d.Name, nil
		}
	}
	return nothing, "", nil
}

// SettingsOf is what a Deployment tells the controller that it runs, as ControllerSettings has it. ok is false where it runs
// none, or none now.
func SettingsOf(d *appsv1.Deployment) (lookup func(env string) (string, bool), ok bool) {
	c, container, ok := controllerOf(d)
	if !ok || c.Wanted == 0 {
		return nil, false
	}
	return func(env string) (string, bool) {
		value, from, ok := container.setting(env)
		if from != "" {
			return "", false // it is in another object, which was not read
		}
		return value, ok
	}, true
}

package doctor

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ControllerSettings finds the controller in the cluster and returns what it is told: a setting by the name of its environment
// variable, whether it is given so, in a ConfigMap that its variables are from, or as a flag. from is its Deployment, empty when there is
// none.
//
// Errors: the Deployments can't be listed, or ConfigMaps not be read. The other settings are known all the same.
func ControllerSettings(ctx context.Context, reader client.Reader) (lookup func(env string) (string, bool), from string, err error) {
	nothing := func(string) (string, bool) { return "", false }
	var list appsv1.DeploymentList
	if err := reader.List(ctx, &list); err != nil {
		return nothing, "", fmt.Errorf("listing deployments, to find the controller's settings: %w", err)
	}
	var unread error
	for i := range list.Items {
		d := &list.Items[i]
		lookup, ok, err := SettingsOf(d, ConfigMapsOf(ctx, reader))
		if ok {
			return lookup, d.Namespace + "/" + d.Name, err
		}
		unread = errors.Join(unread, err)
	}
	return nothing, "", unread
}

// SettingsOf is what a Deployment tells the controller that it runs, as ControllerSettings has it. ok is false where it runs
// none, or none now.
//
// Errors: ConfigMaps that can't be read; a controller that is told all by them is not known to be one.
func SettingsOf(d *appsv1.Deployment, read ConfigMaps) (lookup func(env string) (string, bool), ok bool, err error) {
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		return nil, false, nil
	}
	_, container, ok, err := controllerOf(d, read)
	if !ok {
		return nil, false, err
	}
	return func(env string) (string, bool) {
		value, from, ok := container.setting(env)
		return value, ok && from == "" // else it is in an object that was not read
	}, true, err
}

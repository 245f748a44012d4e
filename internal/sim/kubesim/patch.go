package kubesim

import (
	"net/http"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// readPatch makes of a request what it does to an object.
//
// Errors: 415 for kinds of patches that the resource does not take.
func readPatch(r *http.Request, res *resource) (func(*object) (sent, error), error) {
	kind := types.PatchType(mediaType(r))
	patch, err := readBody(r)
	if err != nil {
		return nil, err
	}
	var apply func(old []byte) ([]byte, error)
	switch kind {
	case types.MergePatchType:
		apply = func(old []byte) ([]byte, error) { return jsonpatch.MergePatch(old, patch) }
	case types.JSONPatchType:
		ops, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		apply = func(old []byte) ([]byte, error) {
			now, err := ops.Apply(old)
			if err != nil { // a test that fails is among these
				return nil, unprocessable(err)
			}
			return now, nil
		}
	case types.StrategicMergePatchType:
		typed := res.typed()
		if typed == nil {
			return nil, unsupported(patchKinds(res)...)
		}
		apply = func(old []byte) ([]byte, error) { return strategicpatch.StrategicMergePatch(old, patch, typed) }
	default:
		return nil, unsupported(patchKinds(res)...)
	}
	return func(old *object) (sent, error) {
		now, err := apply(old.raw())
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return sent{}, err
		}
		if err != nil {
			return sent{}, apierrors.NewBadRequest(err.Error())
		}
		c, err := decode(now)
		return sent{content: c}, err
	}, nil
}

// patchKinds are the kinds of patches that a real server takes. Server-side apply is not simulated.
func patchKinds(r *resource) []string {
	out := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if r.custom == nil {
		out = append(out, string(types.StrategicMergePatchType))
	}
	return append(out, string(types.ApplyPatchType))
}

func unprocessable(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "the server rejected our request due to an error in our request: " + err.Error(),
	}}
}

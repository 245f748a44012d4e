package control

import "net/http"

// unenforced answers questions about permissions where nobody is asked for any.
func unenforced() error {
	return &problem{http.StatusConflict, "this simulated AWS does not enforce permissions"}
}

// getDenied lists the calls, or parts of calls, that were refused since the start.
func (h *Handler) getDenied(*http.Request) (any, error) {
	if h.Permissions == nil {
		return nil, unenforced()
	}
	return h.Permissions.Denied(), nil
}

// getPermissions lists how often each statement of a policy allowed each action since the start.
func (h *Handler) getPermissions(*http.Request) (any, error) {
	if h.Permissions == nil {
		return nil, unenforced()
	}
	return h.Permissions.Permissions(), nil
}

// deletePermissions forgets both.
func (h *Handler) deletePermissions(*http.Request) (any, error) {
	if h.Permissions == nil {
		return nil, unenforced()
	}
	h.Permissions.Forget()
	return struct{}{}, nil
}

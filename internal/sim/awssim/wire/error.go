package wire

import (
	"errors"
	"fmt"
	"net/http"
)

// Error is an answer that says no. Code is what SDK clients see as the error code.
type Error struct {
	Code    string
	Message string
	Status  int // HTTP status; 400 when zero
	// QueryCode is the older query-protocol code that SQS sends beside the JSON type.
	QueryCode string
	// Fields are further members of a JSON error, such as clusterName.
	Fields map[string]any
}

// Errorf makes a 400 error.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func (e *Error) status() int {
	if e.Status == 0 {
		return http.StatusBadRequest
	}
	return e.Status
}

// WithStatus returns e with another HTTP status.
func (e *Error) WithStatus(status int) *Error {
	c := *e
	c.Status = status
	return &c
}

// DryRunOperation is EC2's "you could have".
func DryRunOperation() *Error {
	return &Error{Code: "DryRunOperation", Status: http.StatusPreconditionFailed,
		Message: "Request would have succeeded, but DryRun flag is set."}
}

// Throttled is what this request's service says when it is asked too often.
func Throttled(r *Request) *Error {
	switch r.Service {
	case EC2:
		return &Error{Code: "RequestLimitExceeded", Message: "Request limit exceeded.", Status: http.StatusServiceUnavailable}
	case IAM, STS, CloudFormation:
		return &Error{Code: "Throttling", Message: "Rate exceeded", Status: http.StatusBadRequest}
	case SQS:
		return &Error{Code: "RequestThrottled", QueryCode: "RequestThrottled", Message: "Rate exceeded", Status: http.StatusBadRequest}
	case EKS:
		return &Error{Code: "ThrottlingException", Message: "Rate exceeded", Status: http.StatusTooManyRequests}
	default:
		return &Error{Code: "ThrottlingException", Message: "Rate exceeded", Status: http.StatusBadRequest}
	}
}

// Internal is this request's service failing on its own side.
func Internal(r *Request, message string) *Error {
	code := "InternalFailure"
	switch r.Service {
	case EC2:
		code = "InternalError"
	case IAM:
		code = "ServiceFailure"
	case SSM:
		code = "InternalServerError"
	case Pricing:
		code = "InternalErrorException"
	case EKS:
		code = "ServerException"
	case KMS:
		code = "KMSInternalException"
	case Events:
		code = "InternalException"
	case CloudWatch:
		code = "InternalServiceFault"
	}
	return &Error{Code: code, Message: message, Status: http.StatusInternalServerError}
}

// Denied is this request's service refusing the caller.
func Denied(r *Request, message string) *Error {
	switch r.Service {
	case EC2:
		return &Error{Code: "UnauthorizedOperation", Message: message, Status: http.StatusForbidden}
	case IAM, STS, CloudFormation:
		return &Error{Code: "AccessDenied", Message: message, Status: http.StatusForbidden}
	case SQS:
		return &Error{Code: "AccessDeniedException", QueryCode: "AccessDenied", Message: message, Status: http.StatusForbidden}
	case EKS:
		return &Error{Code: "AccessDeniedException", Message: message, Status: http.StatusForbidden}
	case CloudWatch:
		return &Error{Code: "AccessDenied", Message: message, Status: http.StatusForbidden}
	default:
		return &Error{Code: "AccessDeniedException", Message: message, Status: http.StatusBadRequest}
	}
}

func denied(r *Request, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Denied(r, err.Error())
}

func unknownOperation(s *Service, operation string) *Error {
	switch s.Protocol {
	case EC2Query, Query:
		return Errorf("InvalidAction", "The action %s is not valid for this web service.", operation)
	default:
		return Errorf("UnknownOperationException", "%s has no operation %q here.", s.Name, operation)
	}
}

// authProblem is what is wrong with a signature, before it is worded as the service at hand words it.
type authProblem int

const (
	authMissing authProblem = iota
	authMalformed
	authUnknownKey
	authExpiredToken
	authMismatch
	authSkewed
	authScope
)

func authError(s *Service, problem authProblem, detail string) *Error {
	if s == EC2 {
		return ec2AuthError(problem, detail)
	}
	status := http.StatusForbidden
	if s.Protocol == JSON11 {
		status = http.StatusBadRequest
	}
	suffix := "Exception"
	if s.Protocol == Query {
		suffix = ""
	}
	var e *Error
	switch problem {
	case authMissing:
		e = &Error{Code: "MissingAuthenticationToken" + suffix, Message: "Missing Authentication Token"}
	case authMalformed:
		e = &Error{Code: "IncompleteSignature" + suffix, Message: detail}
		status = http.StatusBadRequest
	case authUnknownKey:
		e = &Error{Code: "UnrecognizedClientException", Message: "The security token included in the request is invalid."}
		if s.Protocol == Query || s == SQS {
			e.Code = "InvalidClientTokenId"
		}
	case authExpiredToken:
		e = &Error{Code: "ExpiredTokenException", Message: "The security token included in the request is expired"}
		if s.Protocol == Query {
			e.Code = "ExpiredToken"
		}
	case authSkewed, authScope, authMismatch:
		e = &Error{Code: "InvalidSignatureException", Message: detail}
		if s.Protocol == Query {
			e.Code = "SignatureDoesNotMatch"
		}
	}
	if s == SQS {
		e.QueryCode = e.Code
	}
	e.Status = status
	return e
}

// ec2AuthError words problems as EC2 does, which tells a caller less than the others.
func ec2AuthError(problem authProblem, detail string) *Error {
	switch problem {
	case authMissing:
		return Errorf("MissingParameter", "The request must contain the parameter AWSAccessKeyId")
	case authMalformed:
		return Errorf("IncompleteSignature", "%s", detail)
	case authSkewed:
		return Errorf("RequestExpired", "Request has expired.")
	case authExpiredToken:
		return Errorf("RequestExpired", "Request has expired.")
	default:
		return &Error{Code: "AuthFailure", Status: http.StatusUnauthorized,
			Message: "AWS was not able to validate the provided access credentials"}
	}
}

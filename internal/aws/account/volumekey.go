package account

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// VolumeKey is how the account encrypts volumes in a region that name no key.
type VolumeKey struct {
	// ID is the key: an ARN, or the alias of the one that AWS manages.
	ID string
	// All is true where volumes that do not ask for encryption are encrypted, too.
	All bool
}

// VolumeKeyAPI is what DefaultVolumeKey needs of EC2.
type VolumeKeyAPI interface {
	GetEbsDefaultKmsKeyId(context.Context, *ec2.GetEbsDefaultKmsKeyIdInput, ...func(*ec2.Options)) (*ec2.GetEbsDefaultKmsKeyIdOutput, error)
	GetEbsEncryptionByDefault(context.Context, *ec2.GetEbsEncryptionByDefaultInput, ...func(*ec2.Options)) (*ec2.GetEbsEncryptionByDefaultOutput, error)
}

// DefaultVolumeKey reads with which key EC2 encrypts volumes that name none.
//
// Errors: *cloud.Error.
func DefaultVolumeKey(ctx context.Context, api VolumeKeyAPI) (VolumeKey, error) {
	key, err := api.GetEbsDefaultKmsKeyId(ctx, &ec2.GetEbsDefaultKmsKeyIdInput{})
	if err != nil {
		return VolumeKey{}, awserr.Wrap("reading the default key of volumes", err)
	}
	all, err := api.GetEbsEncryptionByDefault(ctx, &ec2.GetEbsEncryptionByDefaultInput{})
	if err != nil {
		return VolumeKey{}, awserr.Wrap("reading whether volumes are encrypted by default", err)
	}
	return VolumeKey{ID: deref(key.KmsKeyId), All: deref(all.EbsEncryptionByDefault)}, nil
}

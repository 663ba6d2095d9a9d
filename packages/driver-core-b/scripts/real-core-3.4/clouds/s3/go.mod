module github.com/fclairamb/afero-s3

go 1.26.2

require (
	github.com/aws/aws-sdk-go v1.44.177
	github.com/spf13/afero v1.9.3
)

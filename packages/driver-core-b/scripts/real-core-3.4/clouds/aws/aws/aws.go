// Stands for a cloud where the FTP server of the CHF could keep its files too. No test asks it for that.
package aws

type Config struct {
	Credentials                  any
	Endpoint, Region             *string
	DisableSSL, S3ForcePathStyle *bool
}

func String(value string) *string { return &value }

func Bool(value bool) *bool { return &value }

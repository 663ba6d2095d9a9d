// Stands for a cloud where the FTP server of the CHF could keep its files too. No test asks it for that.
package session

import "github.com/aws/aws-sdk-go/aws"

type Session struct{}

func NewSession(*aws.Config) (*Session, error) { panic("not built in") }

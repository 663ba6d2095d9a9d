// Stands for a cloud where the FTP server of the CHF could keep its files too. No test asks it for that.
package s3

import (
	"github.com/aws/aws-sdk-go/aws/session"
	"github.com/spf13/afero"
)

func NewFs(string, *session.Session) afero.Fs { panic("not built in") }

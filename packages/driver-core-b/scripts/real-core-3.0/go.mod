// What the tests run the HSS driver against: UDM and AUSF of free5GC 3.0.5. Never part of the product.
module steeple.example/real-core-3.0

go 1.26.2

require (
	github.com/free5gc/ausf v1.3.0
	github.com/free5gc/udm v1.3.0
)

require (
	github.com/antihax/optional v1.0.0 // indirect
	github.com/antonfisher/nested-logrus-formatter v1.3.1 // indirect
	github.com/bronze1man/radius v0.0.0-20190516032554-afd8baec892d // indirect
	github.com/bytedance/sonic v1.11.6 // indirect
	github.com/bytedance/sonic/loader v0.1.1 // indirect
	github.com/chenzhuoyu/base64x v0.0.0-20221115062448-fe3a3abad311 // indirect
	github.com/cloudwego/base64x v0.1.4 // indirect
	github.com/cloudwego/iasm v0.2.0 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/dgrijalva/jwt-go v3.2.0+incompatible // indirect
	github.com/free5gc/UeauCommon v1.0.0 // indirect
	github.com/free5gc/http2_util v1.0.0 // indirect
	github.com/free5gc/http_wrapper v1.0.0 // indirect
	github.com/free5gc/idgenerator v1.0.0 // indirect
	github.com/free5gc/logger_conf v1.0.0 // indirect
	github.com/free5gc/logger_util v1.0.0 // indirect
	github.com/free5gc/milenage v1.0.0 // indirect
	github.com/free5gc/openapi v1.0.0 // indirect
	github.com/free5gc/path_util v1.0.0 // indirect
	github.com/free5gc/util_3gpp v1.0.0 // indirect
	github.com/free5gc/version v1.0.0 // indirect
	github.com/gabriel-vasile/mimetype v1.4.3 // indirect
	github.com/gin-contrib/sse v0.1.0 // indirect
	github.com/gin-gonic/gin v1.10.0 // indirect
	github.com/go-playground/locales v0.14.1 // indirect
	github.com/go-playground/universal-translator v0.18.1 // indirect
	github.com/go-playground/validator/v10 v10.20.0 // indirect
	github.com/goccy/go-json v0.10.2 // indirect
	github.com/golang/protobuf v1.5.3 // indirect
	github.com/google/gopacket v1.1.19 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/h2non/parth v0.0.0-20190131123155-b4df798d6542 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/klauspost/cpuid/v2 v2.2.7 // indirect
	github.com/leodido/go-urn v1.4.0 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/mitchellh/mapstructure v1.5.0 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	github.com/pelletier/go-toml/v2 v2.2.2 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	github.com/twitchyliquid64/golang-asm v0.15.1 // indirect
	github.com/ugorji/go/codec v1.2.12 // indirect
	github.com/urfave/cli v1.22.5 // indirect
	golang.org/x/arch v0.8.0 // indirect
	golang.org/x/crypto v0.45.0 // indirect
	golang.org/x/net v0.47.0 // indirect
	golang.org/x/oauth2 v0.27.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
	golang.org/x/text v0.31.0 // indirect
	google.golang.org/appengine v1.6.7 // indirect
	google.golang.org/protobuf v1.36.1 // indirect
	gopkg.in/h2non/gock.v1 v1.1.2 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

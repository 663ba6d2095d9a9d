import { readFile } from 'node:fs/promises'
import { type Route, route } from '@steeple/contracts'

/** Everything from this origin, nothing inline but the pictures in the style sheet; no other host is ever asked. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steeple API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<main id="api"></main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/initializer.js"></script>
</body>
</html>
`

const INITIALIZER = `window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#api',
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: false,
  queryConfigEnabled: false,
})
`

/** `GET /v1/docs`: the documentation page and the three files that it loads. Works without any other network. */
export function docsRoutes(): readonly Route[] {
  return [
    fileRoute(
      '/v1/docs',
      'text/html; charset=utf-8',
      'The documentation of this API, to read and try',
      async () => PAGE,
    ),
    fileRoute(
      '/v1/docs/initializer.js',
      'text/javascript; charset=utf-8',
      'Part of the documentation page',
      async () => INITIALIZER,
    ),
    fileRoute('/v1/docs/swagger-ui.css', 'text/css; charset=utf-8', 'Part of the documentation page', () =>
      asset('swagger-ui.css'),
    ),
    fileRoute(
      '/v1/docs/swagger-ui-bundle.js',
      'text/javascript; charset=utf-8',
      'Part of the documentation page',
      () => asset('swagger-ui-bundle.js'),
    ),
  ]
}

function fileRoute(
  path: `/${string}`,
  type: string,
  summary: string,
  read: () => Promise<string | Buffer>,
): Route {
  return route({
    method: 'GET',
    path,
    role: 'public',
    summary,
    produces: [type.slice(0, type.indexOf(';'))],
    handle: async () => ({
      body: await read(),
      headers: { 'Content-Type': type, 'Content-Security-Policy': PAGE_POLICY },
    }),
  })
}

/** Read when asked for: a megabyte that is wanted once a month has no place in memory. */
async function asset(name: string): Promise<Buffer> {
  const page = new URL(name, import.meta.resolve('swagger-ui-dist/package.json'))
  return await readFile(page)
}

import type { Testbed, TestRequest, TestResponse } from '@steeple/testkit'

/** Asks the edge at `url`; the admin token goes along unless the request says otherwise. */
export function requests(url: string, adminToken: string): Pick<Testbed, 'url' | 'request'> {
  return {
    url,
    request: async (method, path, request = {}) => await ask(url + path, method, request, adminToken),
  }
}

async function ask(
  url: string,
  method: string,
  request: TestRequest,
  adminToken: string,
): Promise<TestResponse> {
  const { token = adminToken, body } = request
  const isText = typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === false ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...(body === undefined ? {} : { body: isText ? Buffer.from(body) : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: bodyOf(response, text) }
}

function bodyOf(response: Response, text: string): unknown {
  if (text === '') return undefined
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return isJson ? JSON.parse(text) : text
}

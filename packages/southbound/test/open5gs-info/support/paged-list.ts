import { createServer } from 'node:http'

/** A list as the core serves it: page by page, each printed from what is in it at that moment. */
export interface PagedList extends AsyncDisposable {
  readonly base: string
  items: unknown[]
  readonly asked: string[]
  /** Called after each page is printed. */
  afterPage: () => void
}

const PAGE = 100

export async function pagedList(items: unknown[]): Promise<PagedList> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://core')
    list.asked.push(request.url ?? '')
    const page = Number(url.searchParams.get('page'))
    const part = list.items.slice(page * PAGE, (page + 1) * PAGE)
    const hasNext = list.items.length > (page + 1) * PAGE
    const pager = { page, ...(hasNext ? { next: `${url.pathname}?page=${page + 1}` } : {}) }
    response.setHeader('connection', 'close')
    response.end(JSON.stringify({ items: part, pager }))
    list.afterPage()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const list: PagedList = {
    base: `http://127.0.0.1:${port}`,
    items,
    asked: [],
    afterPage: () => undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return list
}

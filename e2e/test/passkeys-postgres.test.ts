import { assert, suite, tempDir } from '@steeple/testkit'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { withTwo } from '../harness/cluster/fleet.ts'
import { PG_URL } from '../harness/cluster/own-schema.ts'
import { addAuthenticator, logInByPasskey, makePasskey, type PageAnswer } from '../harness/passkey-page.ts'
import { addPerson, enter } from '../harness/people.ts'
import { runSvc, type Service } from '../harness/service.ts'

const passkeys = suite('e2e/passkeys-postgres', { limitMs: 600_000 })
const executable = findBrowser()

const pageOf = ({ url }: Service): string => `http://localhost:${new URL(url).port}/v1/docs`
const outcome = (answer: PageAnswer | string): string =>
  typeof answer === 'string' ? answer : `${answer.status} ${answer.body.error?.code ?? ''}`.trim()

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else {
  passkeys('are certificates at every instance: listed in pages, and revoked for all', () =>
    withTwo(async (a, b) => {
      await using dir = await tempDir()
      const ada = await addPerson(a, 'ada', ['viewer'])
      const env = { SVC_URL: a.url, SVC_TOKEN: a.adminToken, HOME: dir.path }
      for (const label of ['one', 'two', 'three']) {
        const args = ['user', 'cert', 'ada', '--label', label, '--out', dir.path]
        const { code, stderr } = await runSvc(args, env)
        assert.is(code, 0, stderr)
      }
      const path = `/v1/users/${ada.id}/certificates`
      const seen: Record<string, string | null>[] = []
      for (let cursor = ''; ; ) {
        const { body } = await b.request('GET', `${path}?limit=1${cursor}`)
        seen.push(...body.certificates)
        if (body.next_cursor === null) break
        cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
      }
      assert.equal(seen.map(({ label }) => label).sort(), ['one', 'three', 'two'])
      assert.is((await b.request('DELETE', `${path}/${seen[0]?.serial}`)).status, 204)
      const { body } = await a.request('GET', path)
      const revoked = body.certificates.filter(
        ({ revoked_at }: Record<string, unknown>) => revoked_at !== null,
      )
      assert.equal(
        revoked.map(({ serial }: Record<string, unknown>) => serial),
        [seen[0]?.serial],
      )
    }),
  )

  if (executable !== undefined)
    passkeys('open a session at every instance, and none at any once they are removed', () =>
      withTwo(async (a, b) => {
        const { token } = await enter(a, await addPerson(a, 'ada', ['viewer']))
        await using browser = await openBrowser(executable)
        const { page } = await browser.open(pageOf(a))
        await addAuthenticator(page)
        const made = await makePasskey(page, token)
        assert.is(outcome(made), '201', JSON.stringify(made))
        for (const at of [b, a, b]) {
          await page.goto(pageOf(at))
          assert.is(outcome(await logInByPasskey(page)), '200')
        }
        const id = typeof made === 'string' ? made : made.body.id
        assert.is((await a.request('DELETE', `/v1/auth/passkeys/${id}`, { token })).status, 204)
        assert.is(outcome(await logInByPasskey(page)), '401 login_failed')
      }),
    )
}

passkeys.run()

import { LANGUAGES } from '@steeple/contracts'
import { assert, suite, type TempDir, tempDir } from '@steeple/testkit'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { planTour, type Tour, walk, walkByKeys } from '../harness/console-tour.ts'
import { type ConsoleWorld, consoleWorld, furnish } from '../harness/console-world.ts'
import type { TokenRole } from '../harness/contract-roles.ts'

/** Every page that the console lists, to every role, in its languages: what is on it fits, is said, and may be read by all. */
const pages = suite('e2e/console-pages', { limitMs: 900_000 })
/** Of no language, and as long as the label of two numbered SIMs may be. */
const LONG = 'Lpz-0815/Krbbnstrnd-4711-xyzzy-qwrtz-0123456789-Bhnhfstr-Nrd-9'
/** Who sees all comes first: what others see of the same has been judged then. */
const ROLES: readonly TokenRole[] = ['admin', 'viewer', 'operator', 'sim:issuer', 'sim:admin']
const executable = findBrowser()

let temp: TempDir
let world: ConsoleWorld
let tour: Tour

if (executable !== undefined) {
  pages.before(async () => {
    temp = await tempDir()
    const esim = { SVC_ESIM_ENABLED: 'true', SVC_ESIM_SMDP_ADDRESS: 'smdp.lab.example' }
    world = await consoleWorld(temp.path, { env: esim, label: LONG })
    tour = await planTour(world, await openBrowser(executable), await furnish(world, LONG))
  })
  pages.after(async () => {
    await tour?.browser.close()
    await world?.close()
    await temp?.[Symbol.asyncDispose]()
  })

  for (const role of ROLES)
    pages(`fit, are said in the reader's language and may be read by everybody: ${role}`, async () => {
      const languages = role === 'admin' ? LANGUAGES : (['en', 'de'] as const)
      const found = await Promise.all(languages.map((language) => walk(tour, role, language)))
      assert.equal([...new Set(found.flat())], [])
    })

  pages('can be used by the keyboard alone, and so can every dialog that they open', async () => {
    const { wrong, dialogs } = await walkByKeys(tour)
    assert.equal(wrong, [])
    // These are of different pages: what opens them was found and pressed.
    for (const name of [
      'Issue SIMs',
      'Suspend',
      'Extend',
      'Revoke',
      'Replace',
      'Invite a person',
      'Add radio profile',
    ])
      assert.ok(dialogs.includes(name), `${name} of ${dialogs.join(', ')}`)
  })
}

pages.run()

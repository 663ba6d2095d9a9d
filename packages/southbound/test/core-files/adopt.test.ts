import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { assert, failureOf, suite } from '@steeple/testkit'
import { renderedOf } from '../../src/config-set/files.ts'
import type { CoreFilesParts } from '../../src/core-files/core-set.ts'
import { compared } from '../../src/overlay/overlay.ts'
import { type FakeCore, fakeCore, phones, settingsOf } from '../support/small-core.ts'
import { makeWorld, type World } from '../support/world.ts'

const test = suite('southbound/adopt')
const never = new AbortController().signal

/** Files of an operator for the settings of the test, with keys that nobody here knows. */
const THEIRS: Readonly<Record<string, string>> = {
  'mme.yaml':
    '# ours\nlogger: { level: debug }   # noisy\nplmn: 99999\ntac: 7\nhss_map:\n  - realm:   epc.example\n',
  'hss.yaml': 'db_uri: mongodb://core:s3cret-word@127.0.0.1/open5gs\nsms_over_ims: "sip:x"\n',
  'smf.yaml': 'apns: internet\n\n\np-cscf: [ ::1 ]\n',
  'upf.yaml': 'apns: internet\n',
  'freediameter/smf.conf': 'identity: smf # own\n',
}

async function inTheirs(work: (world: World, one: FakeCore) => Promise<void>, files = THEIRS): Promise<void> {
  const world = await makeWorld()
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(world.dir, path)), { recursive: true })
    await writeFile(join(world.dir, path), content)
  }
  // Where the settings say otherwise, another core is asked.
  const ues: CoreFilesParts['ues'] = async (_technology, _signal, at) => phones(at?.tac === 9 ? 9 : 3, 0)
  const one = await fakeCore(world, {}, { ues })
  try {
    await work(world, one)
  } finally {
    await one.close()
    await world.close()
  }
}

const text = (world: World, path: string): Promise<string> => readFile(join(world.dir, path), 'utf8')
const desired = (one: FakeCore) => {
  const { plmn, tac, policy } = one.fake.context.settings
  return { plmn, tac, apns: policy.apns, maxUes: policy.max_ues }
}

test('compares without a write: what differs, what it costs, what stays', () =>
  inTheirs(async (world, one) => {
    const before = await readdir(world.root.path, { recursive: true })
    const { files, adopted, replaced } = await one.core.driver.compare(
      desired(one),
      one.fake.context.settings,
      never,
    )
    const hss = files.find(({ path }) => path === 'hss.yaml')
    assert.equal(hss?.kept, ['sms_over_ims'])
    assert.equal(hss?.differences, [{ key: 'max', found: undefined, written: '128' }])
    assert.not.match(JSON.stringify([files, adopted, replaced]), /s3cret-word/)
    assert.is(adopted.daemons.filter(({ action }) => action === 'restart').length, 0)
    assert.is(adopted.dropped, 0)
    assert.equal(
      replaced.daemons.flatMap(({ name, action, dropped }) =>
        action === 'restart' ? [[name, dropped]] : [],
      ),
      [
        ['upf', 3],
        ['hss', 0],
        ['mme', 3],
        ['smf', 3],
      ],
    )
    assert.equal(await readdir(world.root.path, { recursive: true }), before)
  }))

test('takes files in without a changed byte or a restart, and changes later only what a setting changes', () =>
  inTheirs(async (world, one) => {
    const copy = await one.core.driver.adopt(desired(one), [], never)
    assert.is(await readFile(join(copy, 'mme.yaml'), 'utf8'), THEIRS['mme.yaml'])
    const set = await one.core.driver.render(desired(one))
    const plan = await one.core.driver.plan(set, never)
    assert.equal([plan.state, plan.held], ['in_sync', undefined])
    assert.equal(plan.overlays?.find(({ path }) => path === 'mme.yaml')?.keys, ['logger', 'hss_map'])
    await one.core.driver.apply(set, never)
    assert.is(world.engine.restarts.length, 0)
    for (const [path, content] of Object.entries(THEIRS)) assert.is(await text(world, path), content)
    one.change({ tac: 8 })
    await one.core.driver.apply(await one.core.driver.render(desired(one)), never)
    assert.is(await text(world, 'mme.yaml'), (THEIRS['mme.yaml'] ?? '').replace('tac: 7', 'tac: 8'))
    assert.is(await text(world, 'hss.yaml'), THEIRS['hss.yaml'])
    assert.equal([...new Set(world.engine.restarts)], ['c-mme', 'c-smf'])
  }))

test('a setting that becomes what the file says already changes nothing', () =>
  inTheirs(async (world, one) => {
    await writeFile(join(world.dir, 'mme.yaml'), (THEIRS['mme.yaml'] ?? '').replace('tac: 7', 'tac: 8'))
    await one.core.driver.adopt(desired(one), [], never)
    one.change({ tac: 8 })
    await one.core.driver.apply(await one.core.driver.render(desired(one)), never)
    assert.is(await text(world, 'mme.yaml'), (THEIRS['mme.yaml'] ?? '').replace('tac: 7', 'tac: 8'))
    assert.equal(world.engine.restarts, [])
  }))

test('counts the phones of a core that no setting names yet', () =>
  inTheirs(async (_world, one) => {
    const { settings } = one.fake.context
    const found = { ...settings, tac: 9 }
    const { replaced } = await one.core.driver.compare(desired(one), found, never)
    assert.is(replaced.dropped, 9)
  }))

test('writes the lines that it is told to write, and no other', () =>
  inTheirs(async (world, one) => {
    await one.core.driver.adopt(desired(one), [{ path: 'hss.yaml', key: 'max' }], never)
    const set = await one.core.driver.render(desired(one))
    const plan = await one.core.driver.plan(set, never)
    assert.equal(
      plan.daemons.filter(({ action }) => action === 'restart').map(({ name }) => name),
      ['hss'],
    )
    await one.core.driver.apply(set, never)
    assert.is(await text(world, 'hss.yaml'), `${THEIRS['hss.yaml']}max: 128\n`)
    assert.equal(world.engine.restarts, ['c-hss'])
    const wrong = await failureOf(
      one.core.driver.adopt(desired(one), [{ path: 'hss.yaml', key: 'other' }], never),
    )
    assert.match(wrong.message, /hss\.yaml: other is no key/)
  }))

test('refuses lines of a file that is not there before it writes anything', () =>
  inTheirs(async (world, one) => {
    const before = await readdir(world.root.path, { recursive: true })
    const wrong = await failureOf(
      one.core.driver.adopt(desired(one), [{ path: 'amf.yaml', key: 'max' }], never),
    )
    assert.match(wrong.message, /amf\.yaml: .* has no such file of this core/)
    assert.equal(await readdir(world.root.path, { recursive: true }), before)
  }))

test('cuts nothing of a long value', () => {
  const long = Array.from({ length: 40 }, (_, at) => `10.${at}.0.0/16`)
  const theirs = `upf: { session: [${long.join(', ')}] }\n`
  const [one] = compared(theirs, 'upf: { session: [10.45.0.0/16] }\n').differences
  assert.is(one?.found, JSON.stringify(long))
})

test('follows what the operator writes into an overlay, and forgets one that is removed', () =>
  inTheirs(async (world, one) => {
    await one.core.driver.adopt(desired(one), [], never)
    await writeFile(join(world.dir, 'overlays/mme.yaml'), `${THEIRS['mme.yaml']}time: 3\n`)
    await one.core.driver.apply(await one.core.driver.render(desired(one)), never)
    assert.is(await text(world, 'mme.yaml'), `${THEIRS['mme.yaml']}time: 3\n`)
    await writeFile(join(world.dir, 'overlays/mme.yaml'), 'a: [\n')
    const broken = await failureOf(one.core.driver.render(desired(one)))
    assert.match(broken.message, /the overlay overlays\/mme\.yaml cannot be read: /)
    await rm(join(world.dir, 'overlays/mme.yaml'))
    await one.core.driver.apply(await one.core.driver.render(desired(one)), never)
    assert.is(await text(world, 'mme.yaml'), one.wanted().files.get('mme.yaml'))
  }))

test('gives the overlays as one text, from which an empty directory becomes what it was, byte for byte', () =>
  inTheirs(async (world, one) => {
    assert.equal(await one.core.driver.overlays(never), { text: '', mark: undefined, isNew: true })
    await one.core.driver.adopt(desired(one), [], never)
    one.change({ tac: 8 })
    await one.core.driver.apply(await one.core.driver.render(desired(one)), never)
    const paths = Object.keys(THEIRS)
    const before = await Promise.all(paths.map((path) => text(world, path)))
    const { text: kept, isNew } = await one.core.driver.overlays(never)
    assert.is(isNew, false)
    await one.core.driver.putOverlays('first', undefined, never)
    assert.equal(await one.core.driver.overlays(never), { text: kept, mark: 'first', isNew: false })
    await rm(world.dir, { recursive: true })
    await mkdir(world.dir)
    assert.equal(await one.core.driver.overlays(never), { text: '', mark: undefined, isNew: true })
    await one.core.driver.putOverlays('second', kept, never)
    assert.is((await one.core.driver.overlays(never)).text, kept)
    await one.core.driver.apply(await one.core.driver.render(desired(one)), never)
    assert.equal(await Promise.all(paths.map((path) => text(world, path))), before)
    assert.is((await one.core.driver.overlays(never)).mark, 'second')
    await writeFile(join(world.dir, 'overlays/upf.yaml'), 'apns: other\n')
    await one.core.driver.putOverlays('third', kept, never)
    assert.is(await text(world, 'overlays/upf.yaml'), THEIRS['upf.yaml'])
  }))

test('puts everything back as it was, overlays too', () =>
  inTheirs(async (world, one) => {
    await one.core.driver.adopt(desired(one), [], never)
    one.change({ tac: 8 })
    await one.core.driver.apply(await one.core.driver.render(desired(one)), never)
    const set = await one.core.driver.render(desired(one))
    const before = await readdir(world.dir, { recursive: true })
    const planned = await one.core.driver.planRestore(set, undefined, never)
    assert.equal([planned.changed, planned.restarts, planned.dropped], [['mme.yaml'], ['mme', 'smf'], 3])
    assert.equal(await readdir(world.dir, { recursive: true }), before)
    const done = await one.core.driver.restoreOriginal(set, undefined, never)
    assert.equal([done.copy, done.changed, done.restarted], [planned.copy, planned.changed, planned.restarts])
    for (const [path, content] of Object.entries(THEIRS)) assert.is(await text(world, path), content)
    assert.equal(
      (await readdir(world.dir)).toSorted(),
      [...new Set(Object.keys(THEIRS).map((path) => path.split('/')[0] ?? ''))].toSorted(),
    )
  }))

test('names the edits that it undoes and where they are kept, and leaves no overlays of its own behind', () =>
  inTheirs(async (world, one) => {
    const ours = [{ path: 'hss.yaml', key: 'max' }]
    await one.core.driver.adopt(desired(one), ours, never)
    await one.core.driver.apply(await one.core.driver.render(desired(one)), never)
    const set = () => one.core.driver.render(desired(one))
    const untouched = await one.core.driver.planRestore(await set(), undefined, never)
    // What `--ours` wrote is no edit of anybody.
    assert.equal([untouched.edits, untouched.kept, untouched.left], [[], undefined, []])
    await writeFile(join(world.dir, 'overlays/smf.yaml'), 'apns: internet # mine\n')
    await one.core.driver.apply(await set(), never)
    await writeFile(join(world.dir, 'mme.yaml'), `${THEIRS['mme.yaml']}# by hand\n`)
    await writeFile(join(world.dir, 'overlays/notes.txt'), 'of mine\n')
    const planned = await one.core.driver.planRestore(await set(), undefined, never)
    const edits = ['mme.yaml', 'overlays/smf.yaml']
    const originals = join(world.root.path, 'core-originals/core_a')
    assert.equal([planned.edits, planned.kept, planned.left], [edits, originals, ['overlays/notes.txt']])
    const done = await one.core.driver.restoreOriginal(await set(), undefined, never)
    assert.equal([done.edits, done.left], [edits, ['overlays/notes.txt']])
    const copy = (path: string) => readFile(join(done.kept ?? '', path), 'utf8')
    assert.is(await copy('overlays/smf.yaml'), 'apns: internet # mine\n')
    assert.match(await copy('mme.yaml'), /# by hand/)
    assert.equal(await readdir(join(world.dir, 'overlays'), { recursive: true }), ['notes.txt'])
    for (const [path, content] of Object.entries(THEIRS)) assert.is(await text(world, path), content)
    // Nothing of this service is left in there: what the operator writes from now on is nobody's to undo.
    await writeFile(join(world.dir, 'smf.yaml'), 'apns: new\n')
    const again = await one.core.driver.restoreOriginal(await set(), undefined, never)
    assert.equal([again.changed, again.edits, again.restarted], [[], [], []])
    assert.is(await text(world, 'smf.yaml'), 'apns: new\n')
    // By its name it brings the files back, and no overlay that nobody would read.
    const kept = done.kept?.split('/').at(-1)
    await one.core.driver.restoreOriginal(await set(), kept, never)
    assert.match(await text(world, 'mme.yaml'), /# by hand/)
    assert.equal(await readdir(join(world.dir, 'overlays'), { recursive: true }), ['notes.txt'])
  }))

test('takes files that it gave back for those of others, though its own were the same', () =>
  inTheirs(async (_, one) => {
    await one.core.driver.adopt(desired(one), [], never)
    await one.core.driver.apply(await one.core.driver.render(desired(one)), never)
    await one.core.driver.restoreOriginal(await one.core.driver.render(desired(one)), undefined, never)
    const { held } = await one.core.driver.plan(await one.core.driver.render(desired(one)), never)
    assert.equal(held, Object.keys(THEIRS).toSorted())
  }))

test('goes back to the operator’s files when the core refuses a change, and writes nothing under none', () =>
  inTheirs(async (world, one) => {
    await one.core.driver.adopt(desired(one), [], never)
    one.change({ tac: 666 })
    const refused = await failureOf(
      one.core.driver.apply(
        renderedOf(
          new Map(
            [...(await one.core.driver.render(desired(one))).files].map(([path, content]) => [
              path,
              path === 'mme.yaml' ? 'plmn: 1\ntac: bad\n' : content,
            ]),
          ),
        ),
        never,
      ),
    )
    assert.is(refused.code, 'core_config_refused')
    assert.is(await text(world, 'mme.yaml'), THEIRS['mme.yaml'])
    one.fake.changeSettings(settingsOf(world, { southbound: { driver: 'none' } }))
    assert.is((await failureOf(one.core.driver.adopt(desired(one), [], never))).code, 'validation_failed')
  }))

test.run()

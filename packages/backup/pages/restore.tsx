import {
  type AnswerOf,
  api,
  Button,
  bytesText,
  Card,
  Checkbox,
  type Column,
  DataTable,
  Facts,
  Field,
  FileField,
  Form,
  FormDialog,
  type FormProps,
  Notice,
  Progress,
  Time,
  t,
  useState,
} from '@steeple/console/kit'
import { passphraseHeader } from './passphrase.ts'

/** All of the file is read and checked before the answer begins. */
const LONGEST_MS = 1_800_000

/** Checks a backup, shows what would be different, and restores it after that. */
export function Restore() {
  const [file, setFile] = useState<File>()
  const [passphrase, setPassphrase] = useState('')
  const [isOther, setOther] = useState(false)
  const [preview, setPreview] = useState<Restored>()
  const [done, setDone] = useState<Restored>()
  const [isAsked, setAsked] = useState(false)
  const restore = (isTrial: boolean) =>
    api.post('/v1/restore', {
      query: { dry_run: isTrial, adopt: isOther },
      body: { type: 'application/octet-stream', content: file ?? '' },
      headers: passphraseHeader(passphrase),
      timeoutMs: LONGEST_MS,
    })
  if (done !== undefined)
    return (
      <section class="card" aria-label={t('backup.restore')}>
        <Notice tone="ok">
          <p>{t('backup.restored', { name: done.node_name })}</p>
          <p>{t('backup.restored.kept', { folder: done.kept_in ?? '' })}</p>
          <p>{t('backup.restored.signIn')}</p>
        </Notice>
      </section>
    )
  return (
    <Card title={t('backup.restore')}>
      <p>{t('backup.restore.what')}</p>
      <Form
        submit={file === undefined ? t('backup.check') : t('backup.check.of', { size: bytesText(file.size) })}
        isDisabled={file === undefined}
        act={() => restore(true)}
        onDone={setPreview}
      >
        {({ isBusy, clear }) => {
          // What was found holds for this file and these choices alone.
          const anew =
            <Value,>(set: (value: Value) => void) =>
            (value: Value): void => {
              set(value)
              setPreview(undefined)
              clear()
            }
          return (
            <>
              <FileField text="backup.file" onChoose={anew(setFile)} />
              <Field
                label={t('backup.passphrase')}
                help={t('backup.restore.passphrase')}
                type="password"
                value={passphrase}
                onInput={anew(setPassphrase)}
              />
              <Checkbox text="backup.adopt" isChecked={isOther} onChange={anew(setOther)} />
              {isBusy ? <Progress label={t('backup.checking')} /> : null}
            </>
          )
        }}
      </Form>
      {preview === undefined ? null : <Preview found={preview} onGo={() => setAsked(true)} />}
      {isAsked ? (
        <Consequences
          found={preview}
          act={() => restore(false)}
          onDone={setDone}
          onClose={() => setAsked(false)}
        />
      ) : null}
    </Card>
  )
}

function Consequences({
  found,
  ...dialog
}: {
  readonly found: Restored | undefined
  readonly act: FormProps<Restored>['act']
  readonly onDone: (restored: Restored) => void
  readonly onClose: () => void
}) {
  const [isUnderstood, setUnderstood] = useState(false)
  return (
    <FormDialog
      {...dialog}
      title={t('backup.restore.title', { name: found?.node_name ?? '' })}
      confirm={t('backup.restore.go')}
      isDanger
      isDisabled={!isUnderstood}
    >
      <ul>
        <li>{t('backup.restore.state')}</li>
        <li>{t('backup.restore.start')}</li>
        <li>{t('backup.restore.sims')}</li>
        <li>{t('backup.restore.credentials')}</li>
        <li>{t('backup.restore.kept')}</li>
      </ul>
      <Checkbox text="backup.restore.understood" isChecked={isUnderstood} onChange={setUnderstood} />
    </FormDialog>
  )
}

/** What a restore did, or would do. */
type Restored = AnswerOf<'POST', '/v1/restore'>

/** A table of the store: how many rows it has now, and would have. */
interface TableCount {
  readonly name: string
  readonly now: number
  readonly later: number
}

/** What is in a backup that was checked: whose it is, when it was taken, and which tables would have other rows. */
function Preview({ found, onGo }: { readonly found: Restored; readonly onGo: () => void }) {
  const tables = countsOf(found)
  const other = tables.filter(({ now, later }) => now !== later)
  return (
    <>
      <Notice tone="ok">{t('backup.checked')}</Notice>
      <Facts
        facts={[
          [t('backup.of'), found.node_name],
          [t('backup.at'), <Time key="at" at={found.created_at} />],
          [t('backup.version'), found.version],
          [t('backup.keys'), t(found.with_keys ? 'backup.keys.with' : 'backup.keys.without')],
        ]}
      />
      <h3>{t('backup.difference')}</h3>
      <p>{t('backup.difference.what', { count: other.length, all: tables.length })}</p>
      <DataTable
        label={t('backup.difference')}
        rows={other}
        columns={columns()}
        keyOf={({ name }) => name}
        empty={<p>{t('backup.difference.none')}</p>}
      />
      <div class="actions">
        <Button kind="danger" onClick={onGo}>
          {t('backup.restore.go')}
        </Button>
      </div>
    </>
  )
}

function countsOf({ counts, present }: Restored): readonly TableCount[] {
  const names = [...new Set([...Object.keys(counts), ...Object.keys(present)])].toSorted()
  return names.map((name) => ({ name, now: present[name] ?? 0, later: counts[name] ?? 0 }))
}

function columns(): readonly Column<TableCount>[] {
  return [
    { text: 'backup.table', cell: ({ name }) => name.replaceAll('_', ' ') },
    { text: 'backup.rows.now', of: 'now', isNumeric: true },
    { text: 'backup.rows.then', of: 'later', isNumeric: true },
    {
      text: 'backup.rows.difference',
      cell: ({ now, later }) => (later > now ? `+${later - now}` : `−${now - later}`),
      isNumeric: true,
    },
  ]
}

import {
  type AnswerOf,
  api,
  Button,
  Closing,
  type Column,
  Copy,
  DataTable,
  Dialog,
  EmptyState,
  Facts,
  Field,
  FileField,
  FormDialog,
  type ItemOf,
  may,
  PagedTable,
  Said,
  saveFile,
  t,
  toast,
  usePages,
  useState,
  useTyped,
} from '@steeple/console/kit'

/** A provider, without its keys. */
type Provider = ItemOf<'/v1/esim/providers'>
type Report = AnswerOf<'POST', '/v1/esim/providers/{id}/codes'>
type What = 'set' | 'file' | 'import' | 'order' | 'password' | 'remove'
interface Open {
  readonly what: What
  readonly provider: Provider | undefined
}

/** Accredited servers that deliver eSIMs to phones from a shop. */
export function Providers() {
  const providers = usePages('/v1/esim/providers', {}, ['esim_provider.*'])
  const [open, setOpen] = useState<Open>()
  const close = (): void => {
    setOpen(undefined)
    providers.reload()
  }
  return (
    <>
      <p>{t('esim.providers.what')}</p>
      {may('admin') ? (
        <div class="toolbar">
          <Button icon="plus" onClick={() => setOpen({ what: 'set', provider: undefined })}>
            {t('esim.provider.add')}
          </Button>
        </div>
      ) : null}
      <PagedTable
        query={providers}
        label={t('esim.providers')}
        columns={columns((what, provider) => setOpen({ what, provider }))}
        keyOf={({ id }) => id}
        empty={<EmptyState title={t('esim.providers.none')}>{t('esim.providers.none.help')}</EmptyState>}
      />
      {open === undefined ? null : <Opened open={open} onClose={close} />}
    </>
  )
}

function Opened({
  open: { what, provider },
  onClose,
}: {
  readonly open: Open
  readonly onClose: () => void
}) {
  if (what === 'set' || provider === undefined)
    return <SetProviderDialog provider={provider} onClose={onClose} />
  const Of = DIALOGS[what]
  return <Of provider={provider} onClose={onClose} />
}

function columns(act: (what: What, provider: Provider) => void): readonly Column<Provider>[] {
  return [
    { text: 'esim.provider.name', of: 'name' },
    { text: 'esim.provider.way', cell: ({ url }) => (url === '' ? t('esim.provider.by.file') : url) },
    {
      text: 'esim.provider.print',
      isWide: true,
      cell: ({ order_key_fingerprint: print, order_key_users: users }) =>
        print === null ? '–' : <span title={users.join(', ')}>{print.match(/.{1,4}/g)?.join(' ')}</span>,
    },
    {
      text: 'esim.cert.do',
      cell: (provider) => (
        <span class="row-actions">
          {actionsOf(provider).map((what) => (
            <Button
              key={what}
              kind="quiet"
              label={t(`esim.provider.${what}.of`, { name: provider.name })}
              onClick={() => act(what, provider)}
            >
              {t(`esim.provider.${what}`)}
            </Button>
          ))}
        </span>
      ),
    },
  ]
}

function actionsOf({ url, order_key_fingerprint: print }: Provider): readonly What[] {
  return [
    ...(may('sim:admin') && print !== null ? (['file'] as const) : []),
    'import',
    ...(url === '' ? [] : (['order'] as const)),
    ...(may('admin') ? (['password', 'set', 'remove'] as const) : []),
  ]
}

interface DialogProps {
  readonly provider: Provider
  readonly onClose: () => void
}

function BatchField({
  batch,
  onInput,
}: {
  readonly batch: string
  readonly onInput: (batch: string) => void
}) {
  return (
    <Field
      label={t('sims.filter.batch_id')}
      help={t('esim.provider.batch.help')}
      isRequired
      pattern="[a-z0-9\-]+"
      value={batch}
      onInput={onInput}
    />
  )
}

function FileDialog({ provider: { id, name, order_key_fingerprint: print }, onClose }: DialogProps) {
  const [batch, setBatch] = useState('')
  return (
    <FormDialog
      title={t('esim.provider.file.of', { name })}
      confirm={t('esim.provider.file')}
      what={t('esim.provider.file.what', { print: print ?? '' })}
      act={() => api.post('/v1/esim/providers/{id}/order-file', { path: { id }, body: { batch_id: batch } })}
      onDone={({ file, order, sims, left_out: out }) => {
        saveFile(file, order, 'application/pgp-encrypted')
        toast({ text: t('esim.provider.file.done', { count: sims, out: out.length }) })
        onClose()
      }}
      onClose={onClose}
    >
      <BatchField batch={batch} onInput={setBatch} />
    </FormDialog>
  )
}

function ImportDialog({ provider: { id, name }, onClose }: DialogProps) {
  const [content, setContent] = useState<File>()
  const [report, setReport] = useState<Report>()
  if (report !== undefined)
    return (
      <Dialog isOpen title={t('esim.provider.import.of', { name })} onClose={onClose}>
        <Imported report={report} />
        <Closing kind="primary" onClose={onClose} />
      </Dialog>
    )
  return (
    <FormDialog
      text="esim.provider.import"
      title={t('esim.provider.import.of', { name })}
      isDisabled={content === undefined}
      act={() =>
        api.post('/v1/esim/providers/{id}/codes', {
          path: { id },
          body: { type: 'text/csv', content: content ?? new Blob() },
        })
      }
      onDone={setReport}
      onClose={onClose}
    >
      <FileField text="esim.provider.import.file" accept=".csv,.txt" onChoose={setContent} />
    </FormDialog>
  )
}

function Imported({ report: { imported, replaced, unchanged, failed, rows } }: { readonly report: Report }) {
  return (
    <div class="stack">
      <p aria-live="polite">{t('esim.provider.imported', { imported, replaced, unchanged, failed })}</p>
      {failed === 0 ? null : (
        <DataTable
          label={t('esim.provider.refused')}
          rows={rows.filter(({ status }) => status === 'error')}
          keyOf={({ line }) => String(line)}
          columns={[
            { text: 'import.line', isNumeric: true, of: 'line' },
            { text: 'esim.code', cell: ({ iccid_last4: end }) => `…${end ?? ''}` },
            { text: 'sims.why', cell: ({ error }) => <Said>{error ?? ''}</Said> },
          ]}
        />
      )}
    </div>
  )
}

function OrderDialog({ provider: { id, name }, onClose }: DialogProps) {
  const [batch, setBatch] = useState('')
  return (
    <FormDialog
      title={t('esim.provider.order.of', { name })}
      confirm={t('esim.provider.order')}
      what={t('esim.provider.order.what')}
      act={() => api.post('/v1/esim/providers/{id}/order', { path: { id }, body: { batch_id: batch } })}
      onDone={({ ordered, failed, remaining }) => {
        const [first] = failed
        toast({
          text: t('esim.provider.order.done', { count: ordered, failed: failed.length, left: remaining }),
          ...(first === undefined ? {} : { tone: 'bad' as const }),
        })
        if (first !== undefined) toast({ text: first.reason, tone: 'bad' })
        onClose()
      }}
      onClose={onClose}
    >
      <BatchField batch={batch} onInput={setBatch} />
    </FormDialog>
  )
}

function PasswordDialog({ provider: { id, name }, onClose }: DialogProps) {
  const [made, setMade] = useState<AnswerOf<'POST', '/v1/esim/providers/{id}/password'>>()
  if (made !== undefined)
    return (
      <Dialog isOpen title={t('esim.provider.password.of', { name })} onClose={onClose}>
        <div class="stack">
          <p>{t('esim.provider.password.once')}</p>
          <Facts
            facts={[
              [t('esim.provider.password.path'), `${location.origin}${made.path}`],
              [t('esim.provider.password.user'), made.user],
              [
                t('esim.provider.password'),
                <>
                  <code>{made.password}</code> <Copy text={made.password} />
                </>,
              ],
            ]}
          />
        </div>
        <Closing kind="primary" onClose={onClose} />
      </Dialog>
    )
  return (
    <FormDialog
      text="esim.provider.password"
      title={t('esim.provider.password.of', { name })}
      act={() => api.post('/v1/esim/providers/{id}/password', { path: { id } })}
      onDone={setMade}
      onClose={onClose}
    />
  )
}

function RemoveDialog({ provider: { id, name }, onClose }: DialogProps) {
  return (
    <FormDialog
      text="esim.provider.remove"
      title={t('esim.provider.remove.of', { name })}
      isDanger
      act={() => api.delete('/v1/esim/providers/{id}', { path: { id } })}
      onDone={onClose}
      onClose={onClose}
    />
  )
}

const DIALOGS: Readonly<
  Record<Exclude<What, 'set'>, (props: DialogProps) => ReturnType<typeof RemoveDialog>>
> = {
  file: FileDialog,
  import: ImportDialog,
  order: OrderDialog,
  password: PasswordDialog,
  remove: RemoveDialog,
}

/** Files of a provider, by the property of the body that each is. */
const FILES = ['order_key', 'ca', 'cert', 'key'] as const

/** Adds a provider, or changes one; a file that is not chosen stays as it is. */
function SetProviderDialog({
  provider,
  onClose,
}: {
  readonly provider: Provider | undefined
  readonly onClose: () => void
}) {
  const { typed, of } = useTyped({
    ...{ id: provider?.id ?? '', name: provider?.name ?? '', url: provider?.url ?? '' },
    requester: provider?.requester ?? '',
    profile_type: provider?.profile_type ?? '',
    notify_subject: provider?.notify_subject ?? '',
  })
  const [files, setFiles] = useState<Partial<Record<(typeof FILES)[number], File>>>({})
  const send = async () => {
    const chosen = FILES.flatMap((key) => {
      const file = files[key]
      return file === undefined ? [] : [{ key, file }]
    })
    const texts = await Promise.all(chosen.map(async ({ key, file }) => [key, await file.text()] as const))
    const { id, name, ...fields } = typed
    return await api.put('/v1/esim/providers/{id}', {
      path: { id },
      body: { ...(name === '' ? {} : { name }), ...fields, ...Object.fromEntries(texts) },
    })
  }
  return (
    <FormDialog
      title={
        provider === undefined ? t('esim.provider.add') : t('esim.provider.set.of', { name: provider.name })
      }
      confirm={t('esim.provider.save')}
      act={send}
      onDone={onClose}
      onClose={onClose}
    >
      {provider === undefined ? (
        <Field {...of('id')} text="esim.provider.id" isRequired pattern="[a-z][a-z0-9\-]{0,30}" />
      ) : null}
      <Field {...of('name')} text="esim.provider.name" maxLength={64} />
      <Field {...of('profile_type')} text="esim.provider.type" maxLength={64} />
      <FileField
        text="esim.provider.order_key"
        accept=".asc,.pgp,.txt"
        isRequired={false}
        onChoose={(file) => setFiles(withFile(files, 'order_key', file))}
      />
      <Field {...of('url')} text="esim.provider.url" type="url" />
      <Field {...of('requester')} text="esim.provider.requester" maxLength={128} />
      {FILES.slice(1).map((key) => (
        <FileField
          key={key}
          label={t(`esim.provider.${key}`)}
          accept=".pem,.crt,.cer,.key"
          isRequired={false}
          onChoose={(file) => setFiles(withFile(files, key, file))}
        />
      ))}
      <Field {...of('notify_subject')} text="esim.provider.subject" maxLength={512} />
    </FormDialog>
  )
}

function withFile<Files extends object>(files: Files, key: string, file: File | undefined): Files {
  // Without a file the property is not sent, and what is there stays.
  return { ...files, [key]: file }
}

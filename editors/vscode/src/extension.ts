/** Starts `tidegate lsp` for YAML and JSON files; the server ignores files that aren't definitions. */

import * as vscode from "vscode";
import { LanguageClient, type ServerOptions } from "vscode-languageclient/node";

const SECTION = "tidegate";
const CHOOSE_EVENT = "tidegate.chooseEvent";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("tidegate.restart", restart),
    vscode.commands.registerCommand("tidegate.chooseEventNumber", chooseEvent),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const [command, ...args] = settings.get<string[]>("command", ["tidegate", "lsp"]);
  if (command === undefined) {
    await vscode.window.showErrorMessage("`tidegate.command` is empty.");
    return;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const server: ServerOptions = { command, args, ...(folder && { options: { cwd: folder } }) };
  client = new LanguageClient(SECTION, "Tidegate", server, {
    documentSelector: [
      { scheme: "file", language: "yaml" },
      { scheme: "untitled", language: "yaml" },
      { scheme: "file", language: "json" },
    ],
    initializationOptions: { events: settings.get("events"), event: settings.get("event") },
    synchronize: { configurationSection: SECTION },
  });
  try {
    await client.start();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    await vscode.window.showErrorMessage(
      `\`${[command, ...args].join(" ")}\` didn't start: ${reason}. ` +
        "Install it with: pip install 'tidegate[lsp]'",
    );
  }
}

async function restart(): Promise<void> {
  await client?.stop();
  await start();
}

/** Asks for the number of the event that hovers explain. */
async function chooseEvent(): Promise<void> {
  const given = await vscode.window.showInputBox({
    prompt: "Number of the event in `tidegate.events`, from 1; 0 is the last one",
    validateInput: (text) => (/^\d{1,9}$/.test(text) ? undefined : "Enter a number"),
  });
  if (given !== undefined) {
    await client?.sendRequest("workspace/executeCommand", {
      command: CHOOSE_EVENT,
      arguments: [Number(given)],
    });
  }
}

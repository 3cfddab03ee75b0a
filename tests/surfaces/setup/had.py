"""Configurations as people have them: other servers, comments, odd ways to indent."""

from __future__ import annotations

STATE = """{
  "numStartups": 42,
  "oauthAccount": {"emailAddress": "a@example.org"},
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}
    }
  },
  "projects": {}
}"""
SETTINGS = """{
    "model": "opus",
    "permissions": {"allow": ["Bash(git:*)"]},
    "hooks": {
        "Stop": [
            {"matcher": "", "hooks": [{"type": "command", "command": "notify-send done"}]}
        ],
        "PreToolUse": []
    }
}
"""
CODEX = """# my settings
model = "gpt-5-codex" # the good one

[mcp_servers.docs]
url = "https://developers.openai.com/mcp"

[tui]
notifications = true # keep
"""
GEMINI = """{
  // what I like
  "ui": {"theme": "GitHub"},
  "mcpServers": {
    "docs": {"httpUrl": "https://example.org/mcp"} // theirs
  }
}
"""
VSCODE = """{
\t// servers of all workspaces
\t"servers": {
\t\t"playwright": {
\t\t\t"command": "npx",
\t\t\t"args": ["@playwright/mcp@latest"],
\t\t},
\t},
\t"inputs": []
}
"""
DESKTOP = '{"globalShortcut":"Cmd+Space","mcpServers":{}}'
CURSOR = '{\r\n  "mcpServers": {\r\n  }\r\n}\r\n'
CURSOR_HOOKS = """{
  "version": 1,
  "hooks": {
    "stop": [{ "command": "./audit.sh" }],
    "preToolUse": []
  }
}
"""
OPENCODE = """{
  "$schema": "https://opencode.ai/config.json", // theirs
  "mcp": {
    "docs": {"type": "remote", "url": "https://example.org/mcp"},
  },
}
"""
ZED = """// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "docs": { "url": "https://example.org/mcp" },
  },
}
"""
HAD = {
    "claude-code": {".claude.json": STATE, ".claude/settings.json": SETTINGS},
    "codex": {".codex/config.toml": CODEX},
    "gemini": {".gemini/settings.json": GEMINI},
    "cursor": {".cursor/mcp.json": CURSOR, ".cursor/hooks.json": CURSOR_HOOKS},
    "vscode": {".config/Code/User/mcp.json": VSCODE},
    "claude-desktop": {".config/Claude/claude_desktop_config.json": DESKTOP},
    "opencode": {".config/opencode/opencode.json": OPENCODE},
    "windsurf": {".codeium/windsurf/mcp_config.json": DESKTOP},
    "zed": {".config/zed/settings.json": ZED},
}
HERE = {
    "claude-code": [".mcp.json", ".claude/settings.local.json"],
    "codex": [".codex/config.toml", ".codex/hooks.json"],
    "gemini": [".gemini/settings.json"],
    "cursor": [".cursor/mcp.json", ".cursor/hooks.json"],
    "vscode": [".vscode/mcp.json", ".github/hooks/muisti.json"],
    "opencode": ["opencode.json", ".opencode/plugins/muisti.js"],
}
